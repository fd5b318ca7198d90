package sim

import (
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// A person changes the image in a StatefulSet. The run puts it back, and restarts no member with it.
func TestTemplateByHand(t *testing.T) {
	for _, k := range []kind{pd, tikv, tidb} {
		for _, template := range []string{byHand, byHand + "-" + crashing} {
			w := settled(Options{PD: 3, TiKV: 4, TiDB: 2})
			w.editTemplate(k, template)
			fine(t, w)
			inOrder(t, w, "put StatefulSet "+w.cluster.SetName(kinds[k])+" back")
			notInTranscript(t, w, "restart ")
		}
	}
}

// It is changed in the middle of a rollout, so that Kubernetes replaces pods above the partition with it.
// They get the wanted template by the ordinary path, after the template is put back.
func TestTemplateByHandInARollout(t *testing.T) {
	for _, k := range []kind{pd, tikv, tidb} {
		w := settled(Options{PD: 3, TiKV: 4, TiDB: 2})
		w.Upgrade("v2", kinds[k])
		w.When(func(w *Model) bool {
			p := w.pods[k][w.sets[k].spec.replicas-1]
			return p != nil && p.ready && p.revision == "v2"
		}, func() { w.editTemplate(k, byHand) })
		fine(t, w)
		inOrder(t, w, "put StatefulSet "+w.cluster.SetName(kinds[k])+" back", "restart "+w.names[k][0])
	}
}

// It is changed together with the spec: the record is put back first, and the rollout comes then.
func TestTemplateByHandAndUpgrade(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 2})
	w.editTemplate(tikv, byHand)
	w.Upgrade("v2")
	w.Scale(topology.TiKV, 5)
	fine(t, w)
	inOrder(t, w, "put StatefulSet basic-tikv back", "update StatefulSet basic-tikv", "restart basic-tikv-0")
}

// A webhook puts digests into each template that is written. It is not written against, and what a person
// changes beside it is put back.
func TestTemplateOfAWebhook(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 2, Pins: true})
	notInTranscript(t, w, "put StatefulSet")
	w.Upgrade("v2")
	fine(t, w)
	notInTranscript(t, w, "put StatefulSet")
	if got := w.pods[tikv][0].revision; got != pinned+"v2" {
		t.Errorf("revision %s", got)
	}
	w.editTemplate(tikv, byHand)
	fine(t, w)
	inOrder(t, w, "put StatefulSet basic-tikv back")
}
