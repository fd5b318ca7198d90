package observe

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// counting counts how often it is read, and fails if it is told to.
type counting struct {
	intents, objects int
	err              error
}

func (c *counting) Intent(context.Context) (*v1alpha1.TidbCluster, error) {
	c.intents++
	return &v1alpha1.TidbCluster{}, nil
}

func (c *counting) Objects(context.Context, topology.Cluster) (Objects, error) {
	c.objects++
	return Objects{Pods: make([]*corev1.Pod, c.objects)}, c.err
}

// TestUnchanged: objects are read again if something may have changed, or a minute has passed, or they
// could not be read.
func TestUnchanged(t *testing.T) {
	from, now := &counting{}, noon
	o := &Observer{live: from, now: func() time.Time { return now }}
	u := o.ReadChanges()
	if o.mirror != Source(u) {
		t.Fatal("it is not asked")
	}
	look := func(wants int) {
		t.Helper()
		tc, err := u.Intent(t.Context())
		if err != nil || tc == nil {
			t.Fatal(tc, err)
		}
		got, _ := u.Objects(t.Context(), basic)
		if from.intents != wants || from.objects != wants || len(got.Pods) != wants {
			t.Errorf("read %d and %d times, and returned what was read at time %d; want %d", from.intents, from.objects, len(got.Pods), wants)
		}
	}
	look(1)
	look(2) // nothing says that it is the same
	u.Wake(true)
	look(2)
	now = now.Add(rereadAfter - time.Second)
	look(2)
	now = now.Add(time.Second)
	look(3)
	look(3)
	u.Wake(false)
	look(4)
	u.Wake(true)
	look(4)
	now, from.err = now.Add(rereadAfter), errors.New("no answer")
	look(5)
	look(6) // what could not be read is read again
	from.err = nil
	look(7)
	look(7)
}
