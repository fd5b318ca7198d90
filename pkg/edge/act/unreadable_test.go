package act

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestUnreadable: where the API server does not answer a read, no step succeeds, and none writes. What cannot be read is
// not gone: a step that took an error for "it is done already" would never be taken.
func TestUnreadable(t *testing.T) {
	const name = "basic-tikv-3"
	claims := []step.Claim{{Name: claimName, UID: "uid"}}
	for _, next := range []step.Step{
		step.Resize{Component: topology.TiKV, From: 4, To: 3},
		step.Restart{Component: topology.TiKV, Member: name, Ordinal: 3, PodUID: "uid"},
		step.Restart{Component: topology.PD, Member: "basic-pd-2", Ordinal: 2, PodUID: "uid", Stuck: true},
		step.Close{Component: topology.TiKV},
		step.EvictLeaders{Member: name, StoreID: 4},
		step.AllowLeaders{Member: name, StoreID: 4},
		step.AdoptEviction{Member: name, StoreID: 4},
		step.ForgetRecord{Component: topology.TiKV, Member: name, StoreID: 4},
		step.DrainCapture{Component: topology.TiCDC, Member: "basic-ticdc-1", PodUID: "uid"},
		step.ForgetDrain{Component: topology.TiCDC, Member: "basic-ticdc-1"},
		step.MarkClaims{Component: topology.TiKV, Member: name, Claims: claims},
		step.UnmarkClaims{Component: topology.TiKV, Member: name, Claims: claims},
		step.DeleteClaim{Component: topology.TiKV, Member: name, Name: claimName, UID: "uid"},
		step.ResizeClaim{Component: topology.TiKV, Member: name, Name: claimName, UID: "uid"},
		step.DeletePod{Component: topology.TiKV, Member: name, UID: "uid"},
		step.ReplaceEnded{Component: topology.TiKV, Member: name, UID: "uid"},
		step.DeleteSet{Component: topology.TiKV},
		step.RecreateSet{Component: topology.TiKV, Name: "basic-tikv", Object: desired.Object{Manifest: &appsv1.StatefulSet{}}},
		step.RemakePod{Component: topology.TiKV, Member: name, PodUID: "uid", Claims: []string{claimName}},
	} {
		t.Run(fmt.Sprintf("%s of %v", next.Action(), next), func(t *testing.T) {
			w := newFixture(t)
			unread := 0
			for _, verb := range []string{"get", "list"} {
				w.kube.PrependReactor(verb, "*", func(clienttesting.Action) (bool, runtime.Object, error) {
					unread++
					return true, nil, apierrors.NewServiceUnavailable("the server is starting")
				})
			}
			err := w.Do(t.Context(), next)
			if unread == 0 {
				t.Fatal("the step has read nothing")
			}
			if err == nil {
				t.Error("the step has succeeded")
			}
			w.unchanged(t)
		})
	}
}
