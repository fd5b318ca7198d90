package topology

import (
	"fmt"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
)

func TestSuspended(t *testing.T) {
	yes, no := &v1alpha1.SuspendAction{SuspendStatefulSet: true}, &v1alpha1.SuspendAction{}
	for _, c := range []struct {
		name                    string
		cluster, pd, tikv, tidb *v1alpha1.SuspendAction
		want                    string
	}{
		{"nothing said", nil, nil, nil, nil, "[]"},
		{"all", yes, nil, nil, nil, "[pd tikv tidb]"},
		{"one", nil, nil, nil, yes, "[tidb]"},
		{"a component's own word counts", yes, no, no, nil, "[tidb]"},
		{"not all, but each", no, yes, yes, yes, "[pd tikv tidb]"},
	} {
		tc := valid()
		tc.Spec.SuspendAction, tc.Spec.PD.SuspendAction = c.cluster, c.pd
		tc.Spec.TiKV.SuspendAction, tc.Spec.TiDB.SuspendAction = c.tikv, c.tidb
		cluster := New(tc)
		if got := fmt.Sprint(cluster.Suspended()); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if errs := Validate(New(tc)); len(errs) > 0 {
			t.Errorf("%s: %v", c.name, errs)
		}
		for _, g := range cluster.Groups {
			if g.Size() == 0 || g.Suspend && g.Active() != 0 || !g.Suspend && g.Active() != g.Size() {
				t.Errorf("%s: %s has %d members, %d of them active", c.name, g.Kind, g.Size(), g.Active())
			}
		}
	}
}

// What runs may not lose what it needs; the error is where the user wrote it.
func TestSuspendedUnderOthers(t *testing.T) {
	yes, no := &v1alpha1.SuspendAction{SuspendStatefulSet: true}, &v1alpha1.SuspendAction{}
	expect := func(name, at, says string, change func(*v1alpha1.TidbCluster)) {
		t.Helper()
		tc := valid()
		change(tc)
		expectError(t, name, tc, at, says)
	}
	expect("PD alone", "spec.pd.suspendAction.suspendStatefulSet", "TiKV and TiDB cannot run without PD",
		func(tc *v1alpha1.TidbCluster) { tc.Spec.PD.SuspendAction = yes })
	expect("TiKV alone", "spec.tikv.suspendAction.suspendStatefulSet", "TiDB cannot run without TiKV",
		func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.SuspendAction = yes })
	expect("all but TiKV", "spec.suspendAction.suspendStatefulSet", "TiKV cannot run without PD",
		func(tc *v1alpha1.TidbCluster) { tc.Spec.SuspendAction, tc.Spec.TiKV.SuspendAction = yes, no })
	tc := valid()
	tc.Spec.TiKV.SuspendAction, tc.Spec.TiDB.Replicas = yes, 0
	if errs := Validate(New(tc)); len(errs) > 0 {
		t.Errorf("suspending TiKV is refused, though no component needs it: %v", errs)
	}
}
