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
	look := func(live bool, wants int) {
		t.Helper()
		source := o.source(live)
		tc, err := source.Intent(t.Context())
		if err != nil || tc == nil {
			t.Fatal(tc, err)
		}
		got, _ := source.Objects(t.Context(), basic)
		if from.intents != wants || from.objects != wants || len(got.Pods) != wants {
			t.Errorf("read %d and %d times, and returned what was read at time %d; want %d", from.intents, from.objects, len(got.Pods), wants)
		}
	}
	look(false, 1)
	look(false, 2) // nothing says that it is the same
	u.Wake(true)
	look(false, 2)
	look(false, 3) // a step was taken without a pause before
	u.Wake(true)
	look(true, 4)
	u.Wake(true)
	now = now.Add(rereadAfter - time.Second)
	look(false, 4) // what was read live
	u.Wake(true)
	now = now.Add(time.Second)
	look(false, 5)
	u.Wake(false)
	look(false, 6)
	now, from.err = now.Add(rereadAfter), errors.New("no answer")
	look(false, 7)
	u.Wake(true)
	look(false, 8) // what could not be read is read again
	from.err = nil
	u.Wake(true)
	look(false, 9)
	u.Wake(true)
	look(false, 9)
}

// TestSource: without anybody who says what has changed, only a mirror saves reads.
func TestSource(t *testing.T) {
	from, copied := &counting{}, &counting{}
	o := &Observer{live: from}
	if o.source(false) != Source(from) || o.source(true) != Source(from) {
		t.Error("without a mirror, not read from the API server")
	}
	o.Mirror(copied)
	if o.source(false) != Source(copied) || o.source(true) != Source(from) {
		t.Error("a mirror is for reads that need not be live")
	}
}
