package hosts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/placement"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/scheduling"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Sight is a cluster with members on the host, and what was observed of it.
type Sight struct {
	Cluster  topology.Cluster
	Snapshot state.Snapshot
}

// Refusal is why a host cannot be taken down.
type Refusal struct {
	Cluster topology.Cluster
	Text    string
	Remedy  remedy.Remedy
}

// check is one reason for which a host cannot be taken down. Same are the clusters with the same PD.
type check func(h Host, s Sight, same []Sight) (Refusal, bool)

// checks are in the order in which they are told: later ones may follow from earlier ones.
var checks = []check{Host.othersServe, Host.noRun, Host.quorumOfPD, Host.leaderOfPD, Host.quorumOfRegions, Host.leadersOfRegions, Host.evictionsWork}

// Check returns why the host cannot be taken down; nothing where it can. Others are hosts that may be
// under maintenance.
func (h Host) Check(all []Sight, others []Host) []Refusal {
	var found []Refusal
	for _, s := range all {
		if !s.Snapshot.PD.Known() {
			found = append(found, Refusal{s.Cluster,
				fmt.Sprintf("PD cannot be asked, so it is not known what the cluster would lose: %s", s.Snapshot.PD.Problem),
				remedy.Remedy{remedy.Run("see why", s.Cluster.Plugin("status"))}})
			continue
		}
		if r, refused := h.onlyOne(sharing(all, s), others); refused {
			r.Cluster = s.Cluster
			found = append(found, r)
			continue
		}
		for _, refuses := range checks {
			if r, refused := refuses(h, s, sharing(all, s)); refused {
				r.Cluster = s.Cluster
				found = append(found, r)
				break // the others may follow from it
			}
		}
	}
	return found
}

// sharing returns the clusters with the same PD. A TidbCluster may use the PD of another TidbCluster.
func sharing(all []Sight, s Sight) []Sight {
	var same []Sight
	for _, o := range all {
		if o.Cluster.Namespace == s.Cluster.Namespace && o.Cluster.Name == s.Cluster.Name ||
			s.Snapshot.PD.ClusterID != 0 && o.Snapshot.PD.ClusterID == s.Snapshot.PD.ClusterID {
			same = append(same, o)
		}
	}
	return same
}

// has reports whether a member is on the host.
func (h Host) has(m state.Member) bool { return m.Pod != nil && m.Pod.Node == h.Name }

// Members returns the members of a cluster on the host.
func (h Host) Members(s Sight) []state.Member {
	return members(s, h.has)
}

// membersElsewhere returns the members that are not on the host, also those without a pod.
func (h Host) membersElsewhere(s Sight) []state.Member {
	return members(s, func(m state.Member) bool { return !h.has(m) })
}

func members(s Sight, which func(state.Member) bool) []state.Member {
	var all []state.Member
	for _, k := range topology.Kinds() {
		for _, m := range s.Snapshot.Groups[k].Members {
			if which(m) {
				all = append(all, m)
			}
		}
	}
	return all
}

// missed reports whether a member that the cluster counts on does not serve.
func missed(s Sight, m state.Member) bool {
	counted := s.Snapshot.Groups[m.Kind].Set.Has(m.Ordinal) || (m.Kind.Votes() || m.Kind.Leads()) && m.CountedOn()
	return counted && !m.Up()
}

// othersServe: with a second member down, regions or PD may have no quorum. PD also counts stores that are
// members of no cluster here.
func (h Host) othersServe(s Sight, same []Sight) (Refusal, bool) {
	var down []string
	for _, m := range h.membersElsewhere(s) {
		if missed(s, m) {
			down = append(down, fmt.Sprintf("%s (%s)", m.Name, m.Trouble()))
		}
	}
	if len(down) > 0 {
		return Refusal{
			Text:   "other members do not serve: " + strings.Join(down, ", "),
			Remedy: remedy.Remedy{remedy.Run("see what they wait for", s.Cluster.Plugin("status"))},
		}, true
	}
	snapshots := []state.Snapshot{s.Snapshot}
	for _, o := range same {
		snapshots = append(snapshots, o.Snapshot)
	}
	if missing := state.MissingElsewhere(snapshots...); missing != "" {
		return Refusal{Text: missing, Remedy: plan.StoresElsewhereHelp(s.Cluster, s.Snapshot)}, true
	}
	return Refusal{}, false
}

// onlyOne: a host under maintenance may go down at any time, although its members serve now. With both
// down PD or regions may have no quorum.
func (h Host) onlyOne(same []Sight, others []Host) (Refusal, bool) {
	for _, o := range others {
		if o.Name == h.Name || o.Record == nil {
			continue
		}
		for _, s := range same {
			if o.Record.Names(s.Cluster) {
				return Refusal{
					Text: fmt.Sprintf("node %s is under maintenance since %s, begun by %s, and has members of it as well",
						o.Name, o.Record.Since.UTC().Format(time.RFC3339), o.Record.By),
					Remedy: remedy.Remedy{remedy.Run("end that first, when its members serve again", remedy.Plugin("", "maintenance", "stop", o.Name))},
				}, true
			}
		}
	}
	return Refusal{}, false
}

// noRun: a run that was interrupted goes on, and would restart members while the host is down.
func (h Host) noRun(s Sight, _ []Sight) (Refusal, bool) {
	for _, e := range s.Snapshot.Evictions {
		if !e.Foreign && e.Ended.IsZero() {
			return Refusal{
				Text:   fmt.Sprintf("a run that changes the cluster was interrupted while it evicted region leaders from %s", e.Member),
				Remedy: remedy.Remedy{remedy.Run("let it end", s.Cluster.Plugin("sync"))},
			}, true
		}
	}
	return Refusal{}, false
}

// quorumOfPD: without a quorum of PD the whole cluster stops.
func (h Host) quorumOfPD(s Sight, same []Sight) (Refusal, bool) {
	var on []string
	pd := s.Snapshot.PD
	down := 0
	for _, o := range same {
		for _, m := range h.Members(o) {
			if m.Kind.Votes() && m.CountedOn() {
				on = append(on, m.Name)
				if m.Database.Healthy {
					down++
				}
			}
		}
	}
	if len(on) == 0 || pd.QuorumWithout(down) {
		return Refusal{}, false
	}
	return Refusal{
		Text: fmt.Sprintf("PD has %s, of which %d would be healthy without %s: it would have no quorum, and the whole cluster would stop",
			remedy.Count(pd.Members, "member", "members"), pd.Healthy-down, strings.Join(on, ", ")),
		Remedy: remedy.Remedy{remedy.Run("have more members of PD, on other hosts", s.Cluster.PDPart().Plugin("scale", fmt.Sprintf("%s=%d", topology.PD, state.MoreVoters(pd.Members))))},
	}, true
}

// leaderOfPD: another member has to lead PD.
func (h Host) leaderOfPD(s Sight, _ []Sight) (Refusal, bool) {
	if _, on := h.leader(s); !on {
		return Refusal{}, false
	}
	if _, ok := h.successor(s); ok {
		return Refusal{}, false
	}
	return Refusal{
		Text:   "no member of PD that serves is on another host, so none could lead it",
		Remedy: remedy.Remedy{remedy.Run("see where they are", s.Cluster.Plugin("status", "-o", "wide"))},
	}, true
}

// leader returns PD's leader, if it is on the host.
func (h Host) leader(s Sight) (state.Member, bool) {
	return firstWhere(h.Members(s), func(m state.Member) bool { return m.Kind.Votes() && m.Database.Leader })
}

// successor returns the member to lead PD.
func (h Host) successor(s Sight) (state.Member, bool) {
	return firstWhere(h.membersElsewhere(s), func(m state.Member) bool { return m.Kind.Votes() && m.Up() })
}

// quorumOfRegions: a region that loses half of its copies serves no more until the host is back.
func (h Host) quorumOfRegions(s Sight, same []Sight) (Refusal, bool) {
	var on, all []state.Member
	for _, o := range same {
		all = append(all, members(o, state.Member.CountsAsStore)...)
		on = append(on, members(o, func(m state.Member) bool { return m.CountsAsStore() && h.has(m) })...)
	}
	pd := s.Snapshot.PD
	lost := placement.Together(state.Stores(on), state.Stores(all), pd)
	if lost <= (pd.MaxReplicas-1)/2 {
		return Refusal{}, false
	}
	text := fmt.Sprintf("PD keeps %s of a region (max-replicas), and %d of one could be on %s, so that it would have no quorum",
		remedy.Count(pd.MaxReplicas, "copy", "copies"), lost, names(on))
	return Refusal{Text: text, Remedy: remedy.Remedy{
		remedy.Say("have stores on more hosts, and labels of hosts in PD's location-labels"),
		remedy.Run("add stores", s.Cluster.Plugin("scale", fmt.Sprintf("%s=%d", topology.TiKV, pd.Stores+1))),
	}}, true
}

// leadersOfRegions: leaders need another store to move to.
func (h Host) leadersOfRegions(s Sight, same []Sight) (Refusal, bool) {
	if _, any := firstWhere(h.Members(s), state.Member.CountsAsStore); !any {
		return Refusal{}, false
	}
	if s.Snapshot.PD.SchedulersUnknown {
		return Refusal{
			Text:   "PD has not loaded its schedulers yet, as after a change of its leader",
			Remedy: remedy.Remedy{remedy.Say("try again in a minute")},
		}, true
	}
	for _, o := range same {
		if _, ok := firstWhere(h.membersElsewhere(o), func(m state.Member) bool { return m.Kind.Leads() && m.TakesLeaders() }); ok {
			return Refusal{}, false
		}
	}
	return Refusal{
		Text:   "no store on another host may lead regions, so their leaders could not leave this one",
		Remedy: remedy.Remedy{remedy.Run("see which stores have evict-leader schedulers", s.Cluster.Plugin("status"))},
	}, true
}

// evictionsWork: PD accepts evict-leader schedulers also where it will move no leaders.
func (h Host) evictionsWork(s Sight, _ []Sight) (Refusal, bool) {
	cause, stalls := scheduling.Leaders(s.Snapshot, false)
	leads := func(m state.Member) bool { return m.CountsAsStore() && m.Database.Leaders != 0 }
	if _, any := firstWhere(h.Members(s), leads); !stalls || !any {
		return Refusal{}, false
	}
	return Refusal{
		Text:   "leaders would not leave its stores: " + cause.Text,
		Remedy: cause.Help(func(words string) remedy.Command { return plan.PDCtl(s.Cluster, s.Snapshot, words) }),
	}, true
}

// Stops returns the services of a cluster that stop while the host is down. No member of the component
// then serves on another host.
func (h Host) Stops(s Sight) []string {
	var all []string
	for _, k := range topology.Kinds() {
		if k.Without() == "" {
			continue
		}
		serves := func(m state.Member) bool { return m.Kind == k && m.Up() }
		_, here := firstWhere(h.Members(s), serves)
		_, there := firstWhere(h.membersElsewhere(s), serves)
		if here && !there {
			all = append(all, fmt.Sprintf("%s serves on no other host: %s", k.Title(), k.Without()))
		}
	}
	return all
}

func firstWhere(all []state.Member, which func(state.Member) bool) (state.Member, bool) {
	if i := slices.IndexFunc(all, which); i >= 0 {
		return all[i], true
	}
	return state.Member{}, false
}

func names(all []state.Member) string {
	var out []string
	for _, m := range all {
		out = append(out, m.Name)
	}
	return strings.Join(out, ", ")
}
