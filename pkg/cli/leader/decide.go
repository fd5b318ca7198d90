package leader

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/scheduling"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// find returns a member of the component by its name, as a person gives it.
func find(c topology.Cluster, s state.Snapshot, k topology.Kind, name string) (state.Member, error) {
	if s.PD.Problem != "" {
		return state.Member{}, fmt.Errorf("PD cannot be asked: %s", s.PD.Problem)
	}
	kind, n, _ := c.Named(name)
	m, ok := s.Groups[k].Member(c.PodName(kind, n))
	if ok {
		return m, nil
	}
	var names []string
	for _, m := range s.Groups[k].Members {
		names = append(names, m.Name)
	}
	if len(names) == 0 {
		return m, exit.Usagef("cluster %s/%s has no member of %s", c.Namespace, c.Name, k.Title())
	}
	return m, exit.Usagef("%s is no member of %s; its members are %s", name, k.Title(), strings.Join(names, ", "))
}

// transfer returns the step that makes a member the leader of PD; nil if it leads already.
func transfer(c topology.Cluster, s state.Snapshot, name string) (*step.MoveLeader, error) {
	to, err := find(c, s, topology.PD, name)
	switch {
	case err != nil:
		return nil, err
	case to.Database.Leader:
		return nil, nil
	case s.PD.Leader == "":
		return nil, errors.New("PD has no leader now; it elects one by itself")
	case !to.Up():
		// It would soon lose the leadership, and PD would have no leader for a while.
		return nil, exit.Refusef("%s does not serve%s, so it cannot lead PD", to.Name, because(to))
	}
	next := &step.MoveLeader{From: s.PD.Leader, To: to.Name, FromName: s.PD.Leader, ToName: to.Database.Name}
	for _, m := range s.Groups[topology.PD].Members {
		if m.Database.Leader {
			next.From = m.Name
		}
	}
	return next, nil
}

func because(m state.Member) string {
	if m.Database.Problem != "" {
		return " (" + m.Database.Problem + ")"
	}
	return ""
}

// warnOfStoresElsewhere returns a warning if stores of other clusters are missing, and "" if none is missing. An
// eviction alone takes no copy of a region away, so the eviction goes on. But a user evicts a store to take the store
// down, and with two stores down regions have no quorum. A restart waits for such stores by the same rule.
func warnOfStoresElsewhere(c topology.Cluster, s state.Snapshot, m state.Member, context string) string {
	missing := state.MissingElsewhere(s)
	if missing == "" {
		return ""
	}
	return fmt.Sprintf("do not take %s down: %s; %s", m.Name, missing, plan.StoresElsewhereHelp(c, s).Line(context))
}

// evict returns the store that is to lead no regions. PD may have its scheduler already.
func evict(c topology.Cluster, s state.Snapshot, name string) (state.Member, error) {
	m, err := store(c, s, name)
	if err != nil {
		return m, err
	}
	if cause, stalls := scheduling.Leaders(s, false); stalls && m.Database.Leaders != 0 {
		help := cause.Help(func(words string) remedy.Command { return plan.PDCtl(c, s, words) })
		return m, remedy.For(exit.Refusef("leaders would not leave %s: %s", m.Name, cause.Text), help...)
	}
	if m.Database.Evicting {
		return m, nil
	}
	for _, o := range s.Groups[topology.TiKV].Members {
		if o.Name != m.Name && o.TakesLeaders() {
			return m, nil
		}
	}
	return m, exit.Refusef("no other store of TiKV serves that may lead regions, so they could not leave this one")
}

// store returns a store of TiKV whose leaders no run of this program handles now.
func store(c topology.Cluster, s state.Snapshot, name string) (state.Member, error) {
	m, err := inPD(c, s, name)
	if err != nil {
		return m, err
	}
	if e, ok := s.Eviction(m.Database.ID); ok && !e.Foreign {
		help := remedy.Remedy{remedy.Run("if it was interrupted, go on", c.Plugin("sync"))}
		if c.Paused {
			help = remedy.Remedy{remedy.Run("it goes on after the pause; to end the pause", c.Plugin("resume"))}
		}
		return m, remedy.For(exit.Refusef("a run that changes the cluster evicts region leaders from %s, and ends that itself", m.Name), help...)
	}
	return m, nil
}

// allowed returns a store of TiKV that may be allowed to lead regions again. In a paused cluster that includes a
// store whose leaders a run has evicted, because no run ends that eviction before the pause ends. The next run
// evicts the leaders once more, since a record without a scheduler in PD counts for nothing.
func allowed(c topology.Cluster, s state.Snapshot, name string) (state.Member, error) {
	if c.Paused {
		return inPD(c, s, name)
	}
	return store(c, s, name)
}

// inPD returns a store of TiKV that PD has, with its schedulers.
func inPD(c topology.Cluster, s state.Snapshot, name string) (state.Member, error) {
	m, err := find(c, s, topology.TiKV, name)
	switch {
	case err != nil:
		return m, err
	case s.PD.SchedulersUnknown:
		return m, errors.New("PD has not loaded its schedulers yet, as after a change of its leader; try again in a minute")
	case m.Database.Presence != state.Present || m.Database.State == state.StoreTombstone:
		return m, exit.Refusef("PD has no store of %s", m.Name)
	}
	return m, nil
}
