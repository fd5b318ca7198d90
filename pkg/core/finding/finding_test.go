package finding_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/claim"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/finding"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// sick is a cluster, and what else is known of it.
type sick struct {
	*plantest.Cluster
	look finding.Look
}

// healthy returns a cluster in which nothing is found.
func healthy() *sick { return &sick{Cluster: plantest.New(3, 4, 2)} }

func (s *sick) find() []finding.Finding {
	l := s.look
	l.Wanted, l.Snapshot = s.Wanted, s.Seen
	p := s.Decide()
	p.Notices = append(p.Notices, l.Plan.Notices...)
	p.Unapplied = append(p.Unapplied, l.Plan.Unapplied...)
	p.Gates = append(p.Gates, l.Plan.Gates...)
	l.Plan = p
	return finding.Find(l)
}

func (s *sick) zones(zones ...string) {
	s.Seen.Nodes = map[string]map[string]string{}
	for i, z := range zones {
		s.Seen.Nodes[s.Member(s.Wanted.Cluster.PodName(topology.TiKV, i)).Pod.Node] = map[string]string{"topology.kubernetes.io/zone": z}
	}
}

func of(k topology.Kind, ordinal int, s claim.State) []claim.Claim {
	c := topology.Cluster{Name: "t"}
	return []claim.Claim{{
		Namespace: "ns", Cluster: "t", Name: "data-" + c.PodName(k, ordinal), Component: k, Member: c.PodName(k, ordinal), Pod: c.PodName(k, ordinal),
		Capacity: 1 << 30, State: s, Why: "its member was removed",
	}}
}

const minute = time.Minute

// example shows a rule, and a case close to it in which the rule is silent.
type example struct {
	id     finding.ID
	shows  func(*sick)
	seen   string // a part of what is seen
	fix    string // the steps of the fix
	silent func(*sick)
}

func pdDriven(s *sick) { s.look.Driver = "ann@laptop" }

// both makes one change after another.
func both(changes ...func(*sick)) func(*sick) {
	return func(s *sick) {
		for _, c := range changes {
			c(s)
		}
	}
}

func reports(r event.NoticeReason) (shows, silent func(*sick)) {
	give := func(r event.NoticeReason) func(*sick) {
		return func(s *sick) {
			s.look.Plan.Notices = []desired.Notice{{Reason: r, Component: topology.PD, Text: "what was seen", Remedy: remedy.Remedy{remedy.Say("do it")}}}
		}
	}
	return give(r), give("Another")
}

func examples() []example {
	all := slices.Concat(nodeExamples(), servingExamples(), roomExamples(), leftExamples(), askedExamples(), restartExamples(), replacementExamples(), redundancyExamples(), budgetExamples(), scheduleExamples(), unknownExamples())
	for id, r := range map[finding.ID]event.NoticeReason{
		"configuration-not-asked": event.ConfigurationNotAsked, "restore-settings": event.RestoreSettings, "newer-template": event.NewerTemplate, "template-of-others": event.TemplateOfOthers,
		"certificate-ends": event.CertificateEnds, "authority-ends": event.AuthorityEnds, "certificate-names": event.CertificateNames,
		"certificate-older": event.CertificateOlder, "evict-scheduler-of-others": event.ForeignScheduler, "canary-unreadable": event.CanaryUnreadable,
		"begun-before-pause": event.BegunBeforePause,
	} {
		shows, silent := reports(r)
		all = append(all, example{id, shows, "what was seen", "", silent})
	}
	return all
}

func servingExamples() []example {
	down := func(name string, ago time.Duration) func(*sick) { return func(s *sick) { s.Down(ago, name) } }
	heard := func(ago, leads time.Duration) func(*sick) {
		return func(s *sick) {
			s.Member("t-tikv-1").Database.Since, s.Seen.PD.LeaderSince = plantest.Now.Add(-ago), plantest.Now.Add(-leads)
		}
	}
	return []example{
		{"blocked", func(s *sick) {
			s.look.Plan.Gates = []plan.Gate{{Component: topology.TiKV, Reason: plan.EnoughStores, Want: "enough stores", Observed: "2 of 3", Blocked: true}}
		}, "TiKV: 2 of 3", "", func(s *sick) {
			s.look.Plan.Gates = []plan.Gate{{Component: topology.TiKV, Reason: plan.EnoughStores, Want: "enough stores"}}
		}},
		{"pd-member-unhealthy", down("t-pd-1", 5*minute), "for 5m; 2 of 3 members are healthy, and 2 are needed", "", down("t-pd-1", minute)},
		{"store-down", down("t-tikv-1", 5*minute), "store 2 with 30 regions is Disconnected in PD: pod is not ready, for 5m", "", down("t-tikv-1", minute)},
		{"store-down", both(down("t-tikv-1", 10*time.Second), heard(287*time.Second, time.Hour)), "pod is not ready, for 10s; its last heartbeat was 4m47s ago", "", func(*sick) {}},
		{
			"store-down", both(down("t-tikv-1", 10*time.Second), heard(287*time.Second, 50*time.Second)),
			"pod is not ready, for 10s; the last heartbeat that PD has saved was 4m47s ago, and later ones may not be saved", "", func(*sick) {},
		},
		{"member-replaced", givenUp("t-pd-2"), "it was given up 30m ago: Unschedulable: 0/3 nodes are available", "", down("t-pd-2", 5*minute)},
		{"store-offline", func(s *sick) { s.Offline("t-tikv-1") }, "30 regions left; another user or tool has begun its removal", "",
			func(s *sick) { s.Removing("t-tikv-1", 10*minute) }},
		{"store-offline", func(s *sick) { s.Removing("t-tikv-1", 2*time.Hour) }, "its removal began 120m ago", "", func(*sick) {}},
		{"member-not-serving", down("t-tidb-1", 5*minute), "pod is not ready, for 5m", "", down("t-tikv-1", 5*minute)},
	}
}

func roomExamples() []example {
	has := func(free, of topology.Size, regions int, s state.StoreState) func(*sick) {
		return func(c *sick) {
			d := &c.Member("t-tikv-1").Database
			d.Available, d.Capacity, d.Regions, d.State = free<<30, of<<30, regions, s
		}
	}
	return []example{
		{"store-full", has(4, 100, 90, state.StoreUp), "4.0% of the disk of store 2 is free, 4.0Gi of 100.0Gi", "", has(5, 100, 90, state.StoreUp)},
		{"store-full", has(40, 1000, 3, state.StoreOffline), "4.0% of the disk of store 2", "", has(0, 0, 90, state.StoreUp)},
		{"store-full", has(0, 100, 90, state.StoreUp), "0.0% of the disk of store 2", "", has(0, 100, 0, state.StoreTombstone)},
		{"store-nearly-full", has(19, 100, 90, state.StoreUp), "19.0% of the disk of store 2 is free, 19.0Gi of 100.0Gi", "", has(20, 100, 90, state.StoreUp)},
		{"store-nearly-full", has(5, 100, 30, state.StoreUp), "5.0% of the disk", "", has(4, 100, 30, state.StoreUp)},
		// PD uses a store with few regions as long as there is enough space in it.
		{"store-nearly-full", has(8, 100, 29, state.StoreUp), "8.0% of the disk", "", has(9, 100, 29, state.StoreUp)},
		{"store-nearly-full", has(9, 100, 30, state.StoreUp), "9.0% of the disk", "", has(9, 100, 30, state.StoreOffline)},
	}
}

// TestRoom: what an upgrade warns of names all stores of a component once, however many they are.
func TestRoom(t *testing.T) {
	s := healthy()
	for i, free := range []topology.Size{10, 2, 11, 12} {
		d := &s.Member(s.Wanted.Cluster.PodName(topology.TiKV, i)).Database
		d.Available, d.Capacity = free<<30, 100<<30
	}
	var got []string
	for _, f := range finding.Room(s.Wanted, s.Seen) {
		got = append(got, string(f.ID)+" "+string(f.Component)+" "+f.Seen+" "+f.Remedy.Line(""))
	}
	const mend = " add members: kubectl tidb scale t tikv=5 -n ns; or make their volumes larger: kubectl tidb edit t -n ns"
	want := []string{
		"store-full tikv t-tikv-1: 2.0% of the disk of store 2 is free, 2.0Gi of 100.0Gi" + mend,
		"store-nearly-full tikv t-tikv-0: 10.0% of the disk of store 1 is free, 10.0Gi of 100.0Gi; " +
			"t-tikv-2: 11.0% of the disk of store 3 is free, 11.0Gi of 100.0Gi; t-tikv-3: 12.0% of the disk of store 4 is free, 12.0Gi of 100.0Gi" + mend,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func leftExamples() []example {
	evicted := func(s *sick) { s.Evicting("t-tikv-2", 90*minute, 0) }
	mark := func(s *sick) { s.Member("t-tikv-2").Pod.EvictionBegun = plantest.Now.Add(-2 * time.Hour) }
	claims := func(k topology.Kind, n int, st claim.State) func(*sick) {
		return func(s *sick) { s.look.Claims = of(k, n, st) }
	}
	marked := func(s *sick) { s.Member("t-tikv-2").Claims[0].Marked = true }
	given := func(s *sick) {
		s.Want(topology.TiDB).Failures = []topology.Failure{{Member: "t-tidb-1", Created: plantest.Now.Add(-time.Hour)}}
	}
	drain := func(asked time.Duration) func(*sick) {
		return func(s *sick) {
			s.Seen.Drains = []state.Drain{{Member: "t-ticdc-0", PodUID: "old", Since: plantest.Now.Add(-time.Hour), Asked: plantest.Now.Add(-asked)}}
		}
	}
	ddl := func(s *sick) { s.look.DDLPaused = "t-tidb-1" }
	recorded := func(s *sick) { ddl(s); s.Wanted.Cluster.DDLPause.Recorded = true }
	restores := func(annotation string) func(*sick) {
		return func(s *sick) {
			s.Wanted.Cluster.Source = &v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotation: `{"since":"2026-03-10T02:00:00Z"}`}}}
		}
	}
	logs := func(b state.LogBackup) func(*sick) {
		return func(s *sick) { s.look.Plan.Notices = finding.LogBackups(s.Wanted.Cluster, []state.LogBackup{b}) }
	}
	pd := func(c state.Scheduling) func(*sick) { return func(s *sick) { s.Seen.PD.Scheduling = c } }
	return []example{
		{"log-backup-paused", logs(state.LogBackup{Task: "pitr", Paused: true, Behind: 2 * time.Hour}), "log backup pitr is paused, and reaches to 120m ago", "",
			logs(state.LogBackup{Task: "pitr", Behind: time.Minute})},
		{"log-backup-behind", logs(state.LogBackup{Task: "pitr", Behind: 15 * minute}), "log backup pitr is behind, and reaches to 15m ago", "",
			logs(state.LogBackup{Task: "pitr", Behind: 14 * minute})},
		{"leaders-not-moved", pd(state.Scheduling{NoLeaders: true}), "its leader-schedule-limit is 0", "", pd(state.Scheduling{NoReplicas: true})},
		{"regions-not-moved", pd(state.Scheduling{NoRemoving: []uint64{2}}), "PD takes no regions off store 2", "", pd(state.Scheduling{NoLeaders: true, NoRemoving: []uint64{99}})},
		{"evict-scheduler-left", evicted, "an evict-leader scheduler for store 3, which this plugin made 90m ago", "allow region leaders on t-tikv-2", both(evicted, pdDriven)},
		{"evict-scheduler-left", func(s *sick) { s.Recorded("t-tikv-2", 90*minute) }, "only the record is left", "allow region leaders on t-tikv-2", func(*sick) {}},
		{"evict-scheduler-left", both(evicted, func(s *sick) { s.PDUnknown() }), "PD could not be asked", "", func(s *sick) { s.PDUnknown() }},
		{"evict-scheduler-left", both(evicted, func(s *sick) { s.Seen.PD.SchedulersUnknown = true }), "PD could not be asked", "", func(*sick) {}},
		{"begun-before-pause", both(evicted, func(s *sick) { s.Wanted.Cluster.Paused = true }), "region leaders off store 3", "",
			both(evicted, func(s *sick) { s.Seen.Evictions[0].Foreign = true })},
		{"ddl-paused", recorded, "by the record in the TidbCluster", "", both(recorded, func(s *sick) { s.Roll(topology.TiDB) })},
		{"ddl-paused", ddl, "DDL is paused by /upgrade/start of TiDB", "", both(ddl, func(s *sick) { s.Roll(topology.TiDB) })},
		{"restore-settings", restores(topology.AnnotationRestore), "a restore that began at 2026-03-10T02:00:00Z has not put PD's settings back", "", restores("other")},
		{"removal-record-left", func(s *sick) {
			s.Seen.Removals = []state.Removal{{StoreID: 99, Member: "t-tikv-9"}}
		}, "ConfigMap t-ledger has a record of what was done with store 99", "conclude the removal of store 99 of t-tikv-9", func(s *sick) { s.Removing("t-tikv-1", minute) }},
		{"drain-record-left", drain(10 * minute), "a drain that began 60m ago", "conclude the drain of t-ticdc-0", drain(minute)},
		{"operator-mark-left", mark, "evictLeaderBeginTime of a tidb-operator, written 120m ago", "take tidb-operator's mark of an eviction off pod t-tikv-2", both(mark, pdDriven)},
		{"operator-mark-left", both(mark, func(s *sick) { s.Member("t-tikv-2").Database.Evicting = true }), "evictLeaderBeginTime", "", func(*sick) {}},
		{"claim-mark-left", marked, "claim tikv-t-tikv-2 is marked", "take the mark off tikv-t-tikv-2", both(marked, pdDriven)},
		{"claim-left", claims(topology.TiKV, 5, claim.Left), "claim data-t-tikv-5 (1Gi): its member was removed", "", claims(topology.TiKV, 5, claim.Kept)},
		{"claim-being-deleted", claims(topology.TiKV, 1, claim.Deleting), "is deleted when pod t-tikv-1 ends", "", claims(topology.TiKV, 1, claim.Used)},
		{"failover-record-left", given, "t-tidb-1 was given up 60m ago, and serves again", "end the failover of t-tidb-1",
			both(given, func(s *sick) { s.Down(time.Hour, "t-tidb-1") })},
		{"failover-record-left", given, "; no process drives the cluster", "end the failover of t-tidb-1", both(given, pdDriven)},
		{"failover-record-left", func(s *sick) {
			s.Want(topology.TiKV).Failures = []topology.Failure{{Member: "t-tikv-1", ID: 2, Created: plantest.Now.Add(-time.Hour)}}
		}, "t-tikv-1 was given up", "", func(*sick) {}},
	}
}

// held has the rollout of TiDB wait at a canary.
func held(s *sick) {
	s.Want(topology.TiDB).Held, s.Want(topology.TiDB).Canary = true, 1
	s.Roll(topology.TiDB).Rolled(topology.TiDB, 1)
}

func askedExamples() []example {
	more := func(s *sick) { s.Want(topology.TiKV).Replicas = 5 }
	rolls := func(s *sick) { s.Roll(topology.TiDB) }
	two := func(s *sick) {
		s.Member("t-tidb-0").Pod.Version, s.Member("t-tidb-1").Pod.Version = "v8.1.0", "v8.1.1"
	}
	paused := func(p topology.Pause) func(*sick) {
		return func(s *sick) { s.Wanted.Cluster.Paused, s.Wanted.Cluster.Pause = true, p }
	}
	edited := func(s *sick) {
		s.Want(topology.TiKV).Set.Drift = desired.Differs
		s.Set(topology.TiKV, func(set *state.Set) { set.Writer, set.Written = "kubectl-edit", plantest.Now.Add(-time.Hour) })
	}
	byHand := func(s *sick) {
		s.Roll(topology.TiKV)
		s.Want(topology.TiKV).PutBack = desired.Object{Kind: "StatefulSet", Name: "t-tikv", Drift: desired.Differs, Edits: []desired.Edit{
			{Field: "containers[tikv].image", Live: "pingcap/tikv:v8.1.0", Applied: "pingcap/tikv:v8.1.1", Manager: "kubectl-set"},
		}}
	}
	differs := func(s *sick) { s.Want(topology.TiDB).Services[0].Drift = desired.Differs }
	return []example{
		{"not-driven", more, "to do: scale TiKV from 4 to 5; no process drives the cluster", "", both(more, pdDriven)},
		{"object-differs", differs, "Service t-tidb-peer is not as the spec asks for", "", both(differs, pdDriven)},
		{"object-differs", edited, "StatefulSet t-tikv is not as the spec asks for (written last by kubectl-edit, 60m ago)", "", both(edited, pdDriven)},
		{"object-differs", byHand, "pod template of StatefulSet t-tikv was changed: containers[tikv].image is pingcap/tikv:v8.1.0 (written by kubectl-set), " +
			"and pingcap/tikv:v8.1.1 was applied", "", both(byHand, pdDriven)},
		{"pods-outdated", rolls, "t-tidb-0, t-tidb-1: not at revision v2 yet", "", byHand},
		{"pods-outdated", rolls, "t-tidb-0, t-tidb-1: not at revision v2 yet", "", both(rolls, pdDriven)},
		{"replicas-differ", more, "5 asked for, and StatefulSet t-tikv has 4 replicas; PD has 4 of its members", "", both(more, pdDriven)},
		{"versions-differ", two, "v8.1.0 on t-tidb-0; v8.1.1 on t-tidb-1", "", both(two, pdDriven)},
		{"versions-differ", two, "v8.1.0 on t-tidb-0; v8.1.1 on t-tidb-1", "", both(two, held)},
		{"pods-outdated", func(s *sick) { s.Roll(topology.TiDB) }, "not at revision v2 yet", "", held},
		{"canary-held", held, "TiDB: canary not promoted: 1 of 2 members updated", "", func(s *sick) { s.Roll(topology.TiDB) }},
		{"configuration-not-applied", func(s *sick) {
			s.look.Plan.Unapplied = []plan.Unapplied{{Component: topology.TiKV, Older: []string{"t-tikv-0"}, Remedy: remedy.Remedy{remedy.Say("restart it")}}}
		}, "t-tikv-0 started before", "", func(*sick) {}},
		{"claims-not-kept", func(s *sick) {
			s.Set(topology.TiKV, func(set *state.Set) { set.DeletesWhenScaled, set.Writer = true, "helm" })
		},
			"StatefulSet t-tikv has persistentVolumeClaimRetentionPolicy.whenScaled: Delete (written last by helm)", "", func(*sick) {}},
		{"claims-not-kept", func(s *sick) { s.Set(topology.PD, func(set *state.Set) { set.DeletesWhenDeleted = true }) },
			"StatefulSet t-pd has persistentVolumeClaimRetentionPolicy.whenDeleted: Delete", "", func(*sick) {}},
		{"paused-long", paused(topology.Pause{By: "ann", Since: plantest.Now.Add(-48 * time.Hour), Recorded: true}), "paused by ann", "",
			paused(topology.Pause{By: "ann", Since: plantest.Now.Add(-time.Hour), Recorded: true})},
		{"paused-long", paused(topology.Pause{By: "argocd"}), "set by argocd; it is not known since when", "", func(*sick) {}},
	}
}

func redundancyExamples() []example {
	of := func(pd, tikv, tidb int) func(*sick) {
		return func(s *sick) { s.Cluster = plantest.New(pd, tikv, tidb) }
	}
	onto := func(node string, names ...string) func(*sick) {
		return func(s *sick) {
			for _, n := range names {
				s.Member(n).Pod.Node = node
			}
		}
	}
	two := onto("n", "t-tikv-0", "t-tikv-3")
	stores := func(places ...string) func(*sick) {
		return func(s *sick) {
			for i, p := range places {
				zone, host, _ := strings.Cut(p, "/")
				s.Member(s.Wanted.Cluster.PodName(topology.TiKV, i)).StoreLabels = map[string]string{"zone": zone, "host": host}
			}
		}
	}
	labelled := func(s *sick) { s.Seen.PD.LocationLabels = []string{"zone", "host"} }
	zoned := func(zones ...string) func(*sick) { return func(s *sick) { s.zones(zones...) } }
	disabled := func(s *sick) { s.Seen.PD.RulesDisabled = true }
	return []example{
		{"pd-single", of(1, 4, 2), "it has one member", "", of(2, 4, 2)},
		{"pd-even", of(4, 4, 2), "it has 4 members", "", of(5, 4, 2)},
		{"tidb-single", of(3, 4, 1), "it has one member", "", of(3, 4, 2)},
		{"stores-too-few", of(3, 2, 2), "2 stores, and max-replicas is 3", "", of(3, 3, 2)},
		{"stores-no-spare", of(3, 3, 2), "3 stores, as many as max-replicas", "", of(3, 4, 2)},
		{"max-replicas-low", func(s *sick) { s.Seen.PD.MaxReplicas = 1 }, "max-replicas is 1", "", func(s *sick) { s.PDUnknown() }},
		{"stores-on-one-node", two, "node n has t-tikv-0, t-tikv-3", "", both(two, labelled, stores("a/n", "b/1", "c/2", "a/n"))},
		{"stores-on-one-node", both(two, labelled, stores("a/n", "a/n", "a/n", "a/n")), "node n has t-tikv-0, t-tikv-3", "", both(labelled, stores("a/1", "a/1", "a/1", "a/1"))},
		{"stores-on-one-node", both(two, labelled), "node n has t-tikv-0, t-tikv-3", "", both(two, labelled, stores("a/n", "a/1", "a/2", "a/n"))},
		{"pd-on-one-node", onto("n", "t-pd-0", "t-pd-2"), "node n has t-pd-0, t-pd-2", "", both(of(5, 4, 2), onto("n", "t-pd-0", "t-pd-2"))},
		{"stores-in-one-zone", zoned("a", "a", "a", "a"), "all stores are in zone a", "", zoned("a", "a", "a")},
		{"location-labels-missing", zoned("a", "b", "c", "a"), "stores are in the zones a, b, c, and PD's location-labels is empty", "", both(zoned("a", "b", "c", "a"), labelled)},
		{"isolation-level-none", both(zoned("a", "b", "c", "a"), labelled), "isolation-level is empty", "",
			both(zoned("a", "b", "c", "a"), labelled, func(s *sick) { s.Seen.PD.IsolationLevel = "zone" })},
		{"placement-rules-off", both(func(s *sick) { s.Cluster = plantest.NewFlash(3, 4, 1, 2) }, disabled), "enable-placement-rules is false", "", disabled},
	}
}

// budgets gives the namespace a PodDisruptionBudget for the pods of each component that is named.
func budgets(of ...topology.Kind) func(*sick) {
	return func(s *sick) {
		s.Wanted.Cluster.Source = &v1alpha1.TidbCluster{}
		s.look.Budgets = &policyv1.PodDisruptionBudgetList{}
		for i, k := range of {
			b := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("budget-%d", i)}}
			b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{topology.LabelComponent: string(k)}}
			s.look.Budgets.Items = append(s.look.Budgets.Items, b)
		}
	}
}

func budgetExamples() []example {
	all := budgets(topology.PD, topology.TiKV, topology.TiDB)
	return []example{
		{"disruption-budget-missing", budgets(topology.PD, topology.TiDB), "no PodDisruptionBudget selects its pods", "create PodDisruptionBudget t-tikv", all},
		{
			"disruption-budget-missing", budgets(topology.PD, topology.TiKV), "no PodDisruptionBudget", "create PodDisruptionBudget t-tidb",
			both(budgets(topology.PD, topology.TiKV), func(s *sick) { s.Want(topology.TiDB).Replicas = 1 }),
		},
		{"disruption-budgets-overlap", budgets(topology.PD, topology.TiKV, topology.TiDB, topology.TiKV), "2 PodDisruptionBudgets select its pods: budget-1, budget-3", "", all},
		{"disruption-budgets-unknown", func(s *sick) { s.look.BudgetsUnread = "forbidden" }, "could not be read: forbidden", "", all},
	}
}

// schedules gives the cluster a schedule of backups whose last run was an hour ago.
func schedules(succeeded time.Duration, suspended bool) func(*sick) {
	return func(s *sick) {
		c := batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "t-backup"}, Spec: batchv1.CronJobSpec{Suspend: &suspended}}
		c.Status.LastScheduleTime = &metav1.Time{Time: plantest.Now.Add(-time.Hour)}
		if succeeded > 0 {
			c.Status.LastSuccessfulTime = &metav1.Time{Time: plantest.Now.Add(-succeeded)}
		}
		s.look.Schedules = []batchv1.CronJob{c}
	}
}

func scheduleExamples() []example {
	return []example{
		{"backup-schedule-failed", schedules(0, false), "has failed; no run has succeeded", "", schedules(time.Minute, false)},
		{"backup-schedule-failed", schedules(25*time.Hour, false), "has failed; the last success was at ", "", schedules(25*time.Hour, true)},
		{"backup-schedule-suspended", schedules(time.Minute, true), "it is suspended; the last success was at ", "", schedules(time.Minute, false)},
		{"backup-schedules-unknown", func(s *sick) { s.look.SchedulesUnread = "forbidden" }, "could not be read: forbidden", "", schedules(time.Minute, false)},
	}
}

func unknownExamples() []example {
	return []example{
		{"pd-unknown", func(s *sick) { s.PDUnknown() }, "PD does not answer", "", func(*sick) {}},
		{"schedulers-unknown", func(s *sick) { s.Seen.PD.SchedulersUnknown = true }, "has not loaded", "", func(s *sick) {
			s.PDUnknown()
			s.Seen.PD.SchedulersUnknown = true
		}},
		{"member-unknown", func(s *sick) { s.Member("t-tidb-0").Database = state.Database{} }, "could not be asked", "", func(s *sick) { s.Down(time.Hour, "t-tidb-0") }},
		{"driver-unknown", func(s *sick) { s.look.DriverUnread = "forbidden" }, "who drives the cluster: forbidden", "", pdDriven},
		{"log-backups-unknown", func(s *sick) { s.look.LogBackupsUnread = "no answer" }, "could not be read from PD: no answer", "", func(*sick) {}},
		{"claims-unknown", func(s *sick) { s.look.ClaimsUnread = "forbidden" }, "claims could not be read: forbidden", "", func(*sick) {}},
		{"not-read", func(s *sick) { s.Seen.Gaps = []state.Gap{{What: "the node n", Problem: "forbidden"}} }, "the node n could not be read: forbidden", "", func(*sick) {}},
	}
}

func with(all []finding.Finding, id finding.ID) []finding.Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f finding.Finding) bool { return f.ID != id })
}

// TestRules: each rule finds what it is for and says how to mend that. In a similar case it finds nothing.
func TestRules(t *testing.T) {
	shown := map[finding.ID]bool{}
	for _, e := range examples() {
		shown[e.id] = true
		s := healthy()
		e.shows(s)
		got := with(s.find(), e.id)
		if len(got) == 0 || !strings.Contains(got[0].Seen, e.seen) {
			t.Errorf("%s: got %+v, want %q", e.id, got, e.seen)
			continue
		}
		f := got[0]
		var steps []string
		for _, step := range f.Fix {
			steps = append(steps, step.String())
		}
		if fix := strings.Join(steps, "; "); fix != e.fix {
			t.Errorf("%s: the fix is %q, want %q", e.id, fix, e.fix)
		}
		if f.Remedy.Line("") == "" || f.Matters == "" || (f.Unfixed == "") != (len(f.Fix) > 0) {
			t.Errorf("%s: it does not say what to do: %+v", e.id, f)
		}
		quiet := healthy()
		e.silent(quiet)
		if got := with(quiet.find(), e.id); len(got) > 0 {
			t.Errorf("%s is not silent: %+v", e.id, got)
		}
	}
	for _, r := range finding.Rules() {
		if !shown[r.ID] {
			t.Errorf("%s has no example", r.ID)
		}
	}
}

// TestPaused: in a paused cluster no finding says that a driver lacks. No command is offered that a pause refuses.
func TestPaused(t *testing.T) {
	pause := func(s *sick) {
		s.Wanted.Cluster.Paused = true
		s.Wanted.Cluster.Pause = topology.Pause{By: "ann", Since: plantest.Now.Add(-time.Hour), Recorded: true}
	}
	seen := map[finding.ID]bool{}
	for _, e := range examples() {
		s := healthy()
		e.shows(s)
		pause(s)
		for _, f := range with(s.find(), e.id) {
			seen[e.id] = true
			line := f.Remedy.Line("")
			if strings.Contains(line, "sync") || strings.Contains(line, "--fix") && len(f.Fix) == 0 || strings.Contains(f.Seen, "no process drives") {
				t.Errorf("%s: %s: %s", e.id, f.Seen, line)
			}
		}
	}
	for _, id := range []finding.ID{"object-differs", "pods-outdated", "replicas-differ", "versions-differ", "begun-before-pause", "claim-being-deleted"} {
		if !seen[id] {
			t.Errorf("%s is not found in a paused cluster", id)
		}
	}
}

// TestHealthy: in a healthy cluster nothing is found, and what is unknown is not healthy.
func TestHealthy(t *testing.T) {
	if got := healthy().find(); len(got) > 0 || !finding.Healthy(got) {
		t.Errorf("%+v", got)
	}
	spare := &sick{Cluster: plantest.New(3, 3, 2)}
	if got := spare.find(); len(got) != 1 || !finding.Healthy(got) {
		t.Errorf("what is only good to know: %+v", got)
	}
	unknown := healthy()
	unknown.look.ClaimsUnread = "forbidden"
	if got := unknown.find(); len(got) != 1 || finding.Healthy(got) {
		t.Errorf("what could not be read: %+v", got)
	}
}

// TestOrder: the worst comes first, and the fixes of all are taken.
func TestOrder(t *testing.T) {
	s := healthy()
	s.Evicting("t-tikv-2", time.Hour, 0)
	s.Evicting("t-tikv-1", time.Hour, 0)
	s.Down(time.Hour, "t-tidb-1")
	s.look.ClaimsUnread, s.look.Claims = "forbidden", of(topology.TiKV, 5, claim.Left)
	all := s.find()
	place := 0
	for _, f := range all {
		at := slices.Index(finding.Severities(), f.Severity)
		if at < place {
			t.Errorf("%s comes after something less severe", f.ID)
		}
		place = at
	}
	if place != len(finding.Severities())-1 {
		t.Errorf("%+v", all)
	}
	if steps := finding.Fixes(all); len(steps) != 2 {
		t.Errorf("%v", steps)
	}
}
