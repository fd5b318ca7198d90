package observe

import (
	"context"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestRefusals: the last attempt to make a pod counts, as Kubernetes writes it.
func TestRefusals(t *testing.T) {
	const (
		quota   = `Create Pod basic-tikv-1 in StatefulSet basic-tikv failed error: pods "basic-tikv-1" is forbidden: exceeded quota: q, used: pods=3, limited: pods=3`
		webhook = `create Pod basic-tikv-1 in StatefulSet basic-tikv failed error: admission webhook "w.example" denied the request: no`
		storage = `Create Claim tikv-basic-tikv-1 Pod basic-tikv-1 in StatefulSet basic-tikv failed error: persistentvolumeclaims "tikv-basic-tikv-1" is forbidden: exceeded quota: s`
		made    = `Create Pod basic-tikv-1 in StatefulSet basic-tikv successful`
		deleted = `delete Pod basic-tikv-1 in StatefulSet basic-tikv successful`
		class   = `Create Pod basic-tikv-1 in StatefulSet basic-tikv failed error: pods "basic-tikv-1" is forbidden: no PriorityClass with name high was found`
		account = `create Pod basic-tikv-1 in StatefulSet basic-tikv failed error: pods "basic-tikv-1" is forbidden: error looking up service account db/s: serviceaccount "s" not found`
		other   = `create Pod basic-tikv-2 in StatefulSet basic-tikv failed error: no`
	)
	for want, messages := range map[string][]string{
		`no pod: pods "basic-tikv-1" is forbidden: exceeded quota: q, used: pods=3, limited: pods=3`: {made, quota},
		`no pod: admission webhook "w.example" denied the request: no`:                               {quota, webhook, deleted, other},
		`no pod: persistentvolumeclaims "tikv-basic-tikv-1" is forbidden: exceeded quota: s`:         {storage},
		`no pod: there is no PriorityClass high`:                                                     {made, class},
		`no pod: there is no ServiceAccount s`:                                                       {account},
		"":                                                                                           {quota, made},
	} {
		var events []corev1.Event
		for i, m := range messages {
			events = append(events, corev1.Event{Message: m, LastTimestamp: metav1.NewTime(noon.Add(time.Duration(i) * time.Second))})
		}
		if got := refusals(events, "basic-tikv")["basic-tikv-1"].text; got != want {
			t.Errorf("%q: got %q, want %q", messages, got, want)
		}
	}
	if got := refusals([]corev1.Event{{Message: quota}}, "basic"); len(got) > 0 {
		t.Errorf("of another StatefulSet: %q", got)
	}
}

// TestExplain: events are read only where a pod is missing, and not in each observation. Without the right to read them
// nothing is said, and they are not asked for again.
func TestExplain(t *testing.T) {
	missing := func() []state.Member {
		return []state.Member{{Kind: topology.TiKV, Name: "basic-tikv-0", Pod: &state.Pod{}}, {Kind: topology.TiKV, Name: "basic-tikv-1", Gone: noon}}
	}
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: basic.Namespace, Name: "e"}, LastTimestamp: metav1.NewTime(noon),
		Message: "create Pod basic-tikv-1 in StatefulSet basic-tikv failed error: exceeded quota",
	}
	for name, c := range map[string]struct {
		members []state.Member
		allowed bool
		reads   []int // in three observations, with a minute between the last two
		want    string
	}{
		"missing":            {missing(), true, []int{1, 1, 2}, "no pod: exceeded quota"},
		"may not be read":    {missing(), false, []int{1, 1, 1}, "no pod"},
		"all pods are there": {missing()[:1], true, []int{0, 0, 0}, ""},
	} {
		kube, now, reads := fake.NewClientset(event), noon, 0
		kube.PrependReactor("list", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
			reads++
			return !c.allowed, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", nil)
		})
		o := &Observer{kube: kube, now: func() time.Time { return now }, refusals: memory[map[string]podRefusal]{fresh: refusalsKept}}
		for i, want := range c.reads {
			if i == 2 {
				now = now.Add(time.Minute)
			}
			o.explain(context.Background(), basic, topology.TiKV, c.members)
			if reads != want {
				t.Errorf("%s: %d reads in observation %d, want %d", name, reads, i+1, want)
			}
		}
		if got := c.members[len(c.members)-1]; c.want != "" && got.Trouble() != c.want {
			t.Errorf("%s: %q, want %q", name, got.Trouble(), c.want)
		}
	}
}

// TestLacking: a pod that names what does not exist is not made. The field of the TidbCluster that names it is known,
// in the component's part or in the spec as a whole.
func TestLacking(t *testing.T) {
	for field, spec := range map[string]v1alpha1.TidbClusterSpec{
		"spec.tikv.priorityClassName": {TiKV: &v1alpha1.TiKVSpec{ComponentSpec: v1alpha1.ComponentSpec{PriorityClassName: new("high")}}},
		"spec.priorityClassName":      {PriorityClassName: new("high"), TiKV: &v1alpha1.TiKVSpec{}},
	} {
		c := topology.New(&v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"}, Spec: spec})
		kube := fake.NewClientset(&corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "e"}, LastTimestamp: metav1.NewTime(noon),
			Message: `create Pod basic-tikv-1 in StatefulSet basic-tikv failed error: pods "basic-tikv-1" is forbidden: no PriorityClass with name high was found`,
		})
		o := &Observer{kube: kube, now: func() time.Time { return noon }, refusals: memory[map[string]podRefusal]{fresh: refusalsKept}}
		members := []state.Member{{Kind: topology.TiKV, Name: "basic-tikv-1", Gone: noon}}
		o.explain(t.Context(), c, topology.TiKV, members)
		want := state.Lacking{Resource: "priorityclasses", Kind: "PriorityClass", Name: "high", Field: field}
		if got := members[0]; got.Lacks != want || got.Trouble() != "no pod: there is no PriorityClass high, which "+field+" names" {
			t.Errorf("got %+v, %q", got.Lacks, got.Trouble())
		}
	}
}
