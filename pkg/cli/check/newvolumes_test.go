package check

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestNewVolumes: a request names the members whose claims cannot become as wanted, and no other ones.
func TestNewVolumes(t *testing.T) {
	class := func(name string) func(*v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.StorageClassName = &name }
	}
	size := func(text string) func(*v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) {
			tc.Spec.TiKV.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(text)}
		}
	}
	for name, c := range map[string]struct {
		change func(*v1alpha1.TidbCluster)
		want   []string
	}{
		"nothing":                       {func(*v1alpha1.TidbCluster) {}, nil},
		"another class":                 {class("fast"), []string{"t-tikv-0", "t-tikv-1", "t-tikv-2"}},
		"the name of the default class": {class("standard"), nil},
		"smaller":                       {size("512Mi"), []string{"t-tikv-0", "t-tikv-1", "t-tikv-2"}},
		"larger":                        {size("2Gi"), nil},
		"another class, paused": {func(tc *v1alpha1.TidbCluster) {
			class("fast")(tc)
			tc.Spec.Paused = true
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			now := &v1alpha1.TidbCluster{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "t"},
				Spec:       v1alpha1.TidbClusterSpec{Version: "v8.1.0", TiKV: &v1alpha1.TiKVSpec{Replicas: 3}},
			}
			size("1Gi")(now)
			topology.AskMemberReplacements(now, map[string]topology.MemberReplacement{"t-tikv-1": {Claims: []string{"old"}, Spare: true}})
			want := now.DeepCopy()
			c.change(want)
			groups := plantest.New(3, 4, 1).Seen.Groups
			for _, m := range groups[topology.TiKV].Members {
				m.Claims[0] = state.Claim{Name: m.Claims[0].Name, UID: "claim of " + m.Name, Template: "tikv", Class: "standard", Requested: 1 << 30}
			}
			got, err := newVolumes(Request{Change: intent.Change{Now: now, Want: want}}, groups, time.Time{})
			if err != nil || !slices.Equal(slices.Sorted(maps.Keys(got)), c.want) {
				t.Fatalf("%v, %v, want %v", got, err, c.want)
			}
			if r := got["t-tikv-1"]; len(c.want) > 0 && (!r.Spare || !slices.Equal(r.Claims, []string{"claim of t-tikv-1"})) {
				t.Errorf("%+v", r)
			}
		})
	}
}
