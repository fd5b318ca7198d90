// Package observe reads: it joins what Kubernetes and the members say into one Observation.
//
// It decides nothing, and does not work out what is wanted. What it cannot read it records as unknown, with the reason.
// An observation fails only when Kubernetes itself cannot be read, since nothing can be decided then.
package observe

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/client-go/kubernetes"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tidb"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tikv"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/ledger"
)

// readTimeout bounds each read. What does not answer in time is unknown in this observation and is asked again in
// the next.
const readTimeout = 4 * time.Second

// Observer observes one cluster. It is not safe for concurrent use.
type Observer struct {
	kube   kubernetes.Interface
	live   partial
	mirror Source // nil: everything is read from the API server
	// changes keeps what was read until it may have changed; nil where everything is read each time.
	changes *Unchanged
	dialer  dial.Dialer
	members *dial.Members // of the cluster that was observed last
	of      asked
	now     func() time.Time

	http        *http.Client // for requests to members
	credentials credentials
	unverified  *http.Client // for those to members whose certificate is not verified
	tikv        tikv.Client
	tidb        tidb.Client
	pd          pd.Client
	urls        []string // the addresses that pd was made for
	onPDCall    func(call string, took time.Duration, err error)
	extras      *extras
	history     history
	refusals    memory[map[string]podRefusal] // why Kubernetes has not made pods, by the name of their StatefulSet
	nodes       nodes
	lost        memory[state.LostVolume] // which volumes no node can use, by the UIDs of their claims
	serving     serving
	asksAll     bool // this observation asks all TiDB servers
	glances     bool // this observation is only shown to a person
	leaders     leaderCounts
	patience    patience
	rules       rules
	denied      denied

	advanced      bool   // the cluster that was observed last has AdvancedStatefulSets
	watchAdvanced func() // nil where nothing is watched, or these are

	joining func(context.Context, topology.Cluster) (intent.Parts, error) // finds parts; nil where there are none

	readsIsolation bool
	isolation      isolation
}

// New returns an observer. The intent function loads the TidbCluster.
func New(kube kubernetes.Interface, d dial.Dialer, intent func(context.Context) (*v1alpha1.TidbCluster, error), now func() time.Time) *Observer {
	o := &Observer{kube: kube, live: live{kube, intent}, dialer: d, now: now, history: newHistory(), refusals: memory[map[string]podRefusal]{fresh: refusalsKept}, nodes: newNodes(), lost: memory[state.LostVolume]{fresh: nodesKept}}
	o.identify(topology.Cluster{}, credentials{}) // it has no members
	return o
}

// Mirror sets a copy to read from where a read need not be live. A foreground run has none: it reads only when
// something has changed, and a copy might not show its own last writes yet.
func (o *Observer) Mirror(s Source) { o.mirror = s }

// OnPDCall sets a function that is called after each call of the cluster's PD; see pd.Config.
func (o *Observer) OnPDCall(by func(call string, took time.Duration, err error)) { o.onPDCall = by }

// Observe observes the cluster that its TidbCluster describes. With live it reads everything from the API server,
// and asks all TiDB servers. Without live, many TiDB servers are not asked again if they have said a while ago that
// they serve. PD and TiKV are asked in any case.
func (o *Observer) Observe(ctx context.Context, live bool) (state.Observation, error) {
	from := o.source(live)
	o.asksAll = live
	tc, err := from.Intent(ctx)
	if err != nil {
		return state.Observation{}, err
	}
	return o.observe(ctx, topology.New(tc), from)
}

// source returns where an observation reads objects from.
func (o *Observer) source(live bool) Source {
	switch {
	case o.changes != nil:
		if live {
			o.changes.Wake(false)
		}
		return o.changes
	case live || o.mirror == nil:
		return o.live
	}
	return o.mirror
}

// Against observes a cluster for an intent that need not be saved in Kubernetes yet.
func (o *Observer) Against(ctx context.Context, c topology.Cluster) (state.Observation, error) {
	o.asksAll = true
	return o.observe(ctx, c, o.live)
}

// Glance observes a cluster as Against does, for a person to look at. Members of a node that Kubernetes does not hear of
// have a second to answer. Nothing may be done by a glance: a slow member that serves looks like one that is silent.
func (o *Observer) Glance(ctx context.Context, c topology.Cluster) (state.Observation, error) {
	o.glances = true
	defer func() { o.glances = false }()
	return o.Against(ctx, c)
}

func (o *Observer) observe(ctx context.Context, c topology.Cluster, from Source) (state.Observation, error) {
	var certificates map[string]certificate.Secret
	var own credentials
	var secrets errgroup.Group
	secrets.Go(func() error { certificates, own = o.readCertificates(ctx, c); return nil })
	all, err := from.Objects(ctx, c)
	_ = secrets.Wait()
	if err != nil {
		return state.Observation{}, err
	}
	o.identify(c, own)
	defer o.members.Tell(slices.Concat(all.Pods, all.PD))()
	o.noteAdvanced(all.Advanced)
	seen := all.sort(c)
	c = numbered(c, all.Advanced, seen.existing.Sets)
	if err := o.readConfigs(ctx, c, seen.existing); err != nil {
		return state.Observation{}, err
	}
	o.grow(ctx, c, seen)
	snap := state.Snapshot{
		At:           o.now(),
		Groups:       map[topology.Kind]state.Group{},
		Certificates: certificates,
	}
	var volumes map[string]*state.Volume
	var reads errgroup.Group
	reads.Go(func() error { volumes = o.readVolumes(ctx, seen); return nil })
	base := o.base(ctx, c, seen)
	_ = reads.Wait()
	seen.give(volumes)
	snap.PD = base.state
	o.history.noteHeartbeats(base.heartbeats)
	o.history.leading(&snap.PD, seen.started(c, snap.PD.Leader), snap.At)
	if snap.PD.ClusterID == 0 {
		snap.PD.ClusterID, _ = strconv.ParseUint(c.Source.Status.ClusterID, 10, 64)
	}
	book := ledger.Read(ledger.Of(seen.ledger, snap.PD.ClusterID))
	snap.Evictions, snap.Removals, snap.Drains = book.Evictions, book.Removals, book.Drains
	snap.Templates, snap.RulesEnabled = book.Templates, book.RulesEnabled
	for i, g := range o.groups(ctx, c, c.Groups, seen, base) {
		snap.Groups[c.Groups[i].Kind] = g
		o.explain(ctx, c, c.Groups[i].Kind, g.Members)
	}
	o.rereadFaulty(desired.WithSpares(c, snap.Groups), certificates)
	snap.OtherParts = o.otherParts(ctx, c, seen)
	snap.PD.Healthy += base.servingByOwnAccount(snap.Groups[topology.PD].Members)
	o.readNodes(ctx, c, &snap)
	lost := o.readLostVolumes(ctx, seen.bound, &snap)
	snap.Gaps = slices.Concat(book.Gaps, o.extras.gaps(), base.gaps, lost)
	c = desired.WithVolumesReplaced(c, snap.Groups)
	return state.Observation{Cluster: c, Existing: seen.existing, Snapshot: snap}, nil
}

// PD returns a client of the cluster's PD, nil before an observation has found one.
func (o *Observer) PD() pd.Client { return o.pd }

// Close closes the connections that are not in use. They are opened again when needed.
func (o *Observer) Close() {
	if o.pd != nil {
		o.pd.Close()
	}
	if o.http != nil {
		o.http.CloseIdleConnections()
		o.unverified.CloseIdleConnections()
	}
}

// client returns a PD client for the members that have a running pod.
func (o *Observer) client(urls []string) pd.Client {
	if o.pd != nil && slices.Equal(urls, o.urls) {
		return o.pd
	}
	if o.pd != nil {
		o.pd.Close()
	}
	o.urls = urls
	o.pd = pd.New(pd.Config{URLs: urls, Dial: o.members.DialContext, OnCall: o.onPDCall, TLS: o.credentials.config})
	return o.pd
}

// numbered returns the cluster with the ordinals that its StatefulSets can have. Only the StatefulSets say which
// ordinal is the first.
func numbered(c topology.Cluster, advanced bool, sets map[topology.Kind]*appsv1.StatefulSet) topology.Cluster {
	return c.Numbered(advanced, func(k topology.Kind) int {
		if set := sets[k]; set != nil {
			return state.OrdinalsOf(set).Start
		}
		return 0
	})
}

// ordinals returns the ordinals of which something is wanted or observed, the lowest first, and those of a StatefulSet
// with more replicas that lie between. Members that have nothing but claims count where claims may be deleted, or where
// the members are suspended.
func ordinals(c topology.Cluster, want topology.Group, set state.Set, seen objects, base database) []int {
	k := want.Kind
	all := slices.Concat(want.Ordinals().All(), set.Ordinals().All(), slices.Collect(maps.Keys(seen.pods[k])), base.ordinals(k))
	if c.Reclaims || !set.Exists {
		all = slices.AppendSeq(all, maps.Keys(seen.claims[k]))
	}
	if len(all) > 0 {
		all = append(all, set.Ordinals().Extended(slices.Max(all)).All()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// groups joins what Kubernetes, the database and the members themselves say about the members of components. The members
// of all components are asked at the same time. A member on a lost host costs the time of readTimeout, which would
// otherwise be lost once for each component.
func (o *Observer) groups(ctx context.Context, c topology.Cluster, wanted []topology.Group, seen objects, base database) []state.Group {
	all := make([]state.Group, len(wanted))
	for i, want := range wanted {
		all[i] = o.listed(c, want, seen, base)
	}
	var asked sync.WaitGroup
	for i, want := range wanted {
		if ask := readerOf(want.Kind).ask; ask != nil {
			asked.Go(func() {
				if o.glances {
					o.nodes.read(ctx, o.kube, o.now(), all[i].Members)
				}
				ask(o, ctx, c, all[i].Members)
			})
		}
	}
	asked.Wait()
	for i, want := range wanted {
		o.conclude(ctx, c, want.Kind, all[i].Members, base)
	}
	return all
}

// listed returns a component with what Kubernetes and PD say about its members.
func (o *Observer) listed(c topology.Cluster, want topology.Group, seen objects, base database) state.Group {
	k := want.Kind
	g := state.Group{Set: set(seen.existing.Sets[k])}
	g.Set.Other = seen.others[k]
	written := render.WrittenConfig(c, k, seen.existing)
	for _, n := range ordinals(c, want, g.Set, seen, base) {
		m := state.Member{Kind: k, Ordinal: n, Name: c.PodName(k, n), Claims: seen.claims[k][n]}
		if p := seen.pods[k][n]; p != nil {
			m.Pod = podState(k, p)
			m.Pod.Controller = otherController(p, c.Advanced)
			m.Pod.Config = written.In(*m.Pod)
			m.Pod.Overdue = overdue(p, o.now())
		}
		m.Gone = trueSince(o.history.gone, m.Name, m.Pod == nil && g.Set.Has(n), o.now())
		known := base.member(k, n, m.Pod, seen.born[k][n])
		m.Database, m.StoreLabels = known.Database, known.labels
		g.Members = append(g.Members, m)
	}
	return g
}

// conclude adds what follows from all that was said about the members of a component, and since when that has been so.
func (o *Observer) conclude(ctx context.Context, c topology.Cluster, k topology.Kind, members []state.Member, base database) {
	base.heldByClaims(members)
	readerOf(k).fillInSince(c.Source.Status, members)
	o.nodes.read(ctx, o.kube, o.now(), members)
	for i := range members {
		m := &members[i]
		m.NotServing = trueSince(o.history.notServing, m.Name, !m.Up(), o.now())
		m.ReportedDown = trueSince(o.history.reportedDown, m.Name, m.Denied(), o.now())
		m.Ended = o.history.endedSince(m.Name, m.Pod, o.now())
		m.Refusing = trueSince(o.history.refusing, m.Name, m.Database.Answer == state.Refused, o.now())
		m.Silent = trueSince(o.history.silent, m.Name, m.Database.Answer == state.NoAnswer, o.now())
	}
}
