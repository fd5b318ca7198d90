package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestTakeBack: before a cluster is deleted whose data stays, its evictions and removals end in PD. What another user
// has done there stays, and so does what is over.
func TestTakeBack(t *testing.T) {
	c := plantest.New(3, 4, 2).Evicting("t-tikv-1", time.Hour, 0).Removing("t-tikv-3", time.Hour).Offline("t-tikv-2")
	c.Member("t-tikv-0").Database.Evicting = true
	want := []step.Step{
		step.AllowLeaders{Member: "t-tikv-1", StoreID: 2}, step.RestoreStore{Component: tikv, Member: "t-tikv-3", StoreID: 4},
	}
	if got := plan.TakeBack(c.Wanted, c.Seen); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	c.Member("t-tikv-3").Database.State = state.StoreTombstone
	if got := plan.TakeBack(c.Wanted, c.Seen); fmt.Sprint(got) != fmt.Sprint(want[:1]) {
		t.Errorf("%v, want %v: a tombstone cannot come back", got, want[:1])
	}
}
