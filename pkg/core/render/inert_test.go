package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// What tidb-operator follows and we do not must not change anything: neither the
// objects nor what is wanted of the components.
func TestInert(t *testing.T) {
	for name, edit := range map[string]func(*v1alpha1.TidbCluster){
		"pd-B1, pd-B18: the force-upgrade annotation": func(tc *v1alpha1.TidbCluster) {
			tc.Annotations = map[string]string{"tidb.pingcap.com/force-upgrade": "true"}
		},
		"tikv-11-15: phases of components that are gone": func(tc *v1alpha1.TidbCluster) {
			tc.Status.TiFlash.Phase, tc.Status.Pump.Phase = v1alpha1.UpgradePhase, v1alpha1.UpgradePhase
			tc.Status.TiCDC.Phase, tc.Status.TiProxy.Phase = v1alpha1.UpgradePhase, v1alpha1.ScalePhase
		},
		"tikv-11-15: phases of components that there are": func(tc *v1alpha1.TidbCluster) {
			tc.Status.PD.Phase, tc.Status.TiKV.Phase, tc.Status.TiDB.Phase = v1alpha1.UpgradePhase, v1alpha1.ScalePhase, v1alpha1.UpgradePhase
		},
		"pd-A5: the TidbCluster's generation": func(tc *v1alpha1.TidbCluster) { tc.Generation += 7 },
	} {
		t.Run(name, func(t *testing.T) {
			plain, edited := load(t, "basic"), load(t, "basic", edit)
			have := created(t, want(t, plain, nothing(), state.Snapshot{}))
			for k, g := range want(t, edited, have, state.Snapshot{}).Groups {
				if diff := cmp.Diff(want(t, plain, have, state.Snapshot{}).Groups[k].Group, g.Group); diff != "" {
					t.Errorf("%s:\n%s", g.Kind, diff)
				}
			}
			if found := drifts(want(t, edited, have, state.Snapshot{})); len(found) > 0 {
				t.Errorf("to be written: %v", found)
			}
		})
	}
}

// pd-A5: annotations that others put on a Service are no reason to write it.
func TestForeignAnnotations(t *testing.T) {
	t.Run("pd-A5", func(t *testing.T) {
		c := load(t, "basic")
		have := created(t, want(t, c, nothing(), state.Snapshot{}))
		note := func(s *corev1.Service) {
			if s.Annotations == nil {
				s.Annotations = map[string]string{}
			}
			s.Annotations["cloud.example.com/balancer"] = "x"
		}
		for _, s := range have.Services {
			note(s)
		}
		for _, k := range basicKinds {
			have.Sets[k].Annotations["example.com/owner-generation"] = "9"
		}
		if found := drifts(want(t, c, have, state.Snapshot{})); len(found) > 0 {
			t.Errorf("to be written: %v", found)
		}
	})
}
