package observe

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// database is what PD says, sorted by member.
type database struct {
	state  state.PD
	listed map[topology.Kind]map[int]listed // by ordinal
	// storesNotLoaded is true if PD lists no stores although it had some. It does
	// so for a moment after its leader has changed. If this were taken as true, the
	// data of every store could be deleted.
	storesNotLoaded bool
	pumpsUnread     string // why it is not known which Pumps there are, "" if it is
	// servicesUnread is the same for members of services of PD, by component.
	servicesUnread map[topology.Kind]string
	gaps           []state.Gap // what PD refuses to report
	// unplaced are the stores that PD lists under an address that is the address of no pod, by component.
	unplaced map[topology.Kind][]unplaced
	// heartbeats are the last ones of all stores, as PD dates them.
	heartbeats map[uint64]time.Time
	// labels are those of all stores that are no tombstones; nil where PD does not answer.
	labels map[uint64]map[string]string
}

// unplaced is a store that PD lists under an address that is the address of no pod.
type unplaced struct {
	id      uint64
	address string
}

// listed is what PD says about one member.
type listed struct {
	state.Database
	heartbeat time.Time         // when PD last heard of a store, or a Pump last wrote
	start     time.Time         // when a store's process began, by its own host's clock
	labels    map[string]string // of a store
}

// list notes what PD says about a member.
func (d database) list(k topology.Kind, ordinal int, m listed) {
	if d.listed[k] == nil {
		d.listed[k] = map[int]listed{}
	}
	d.listed[k][ordinal] = m
}

// ordinals returns the ordinals of the members that PD knows and has not removed.
func (d database) ordinals(k topology.Kind) []int {
	var all []int
	if k.Data() == topology.None {
		return nil // PD counts on nothing of a member that has no pod
	}
	for ordinal, m := range d.listed[k] {
		if !m.Removed() {
			all = append(all, ordinal)
		}
	}
	return all
}

// member returns what PD says about a member of PD, of one of its services, of TiKV, TiFlash or Pump.
func (d database) member(k topology.Kind, ordinal int, pod *state.Pod, born time.Time) listed {
	data := k.Data()
	_, service := k.Serves()
	if data == topology.None && !service || !d.state.Known() || data == topology.Store && d.storesNotLoaded {
		return listed{}
	}
	if data == topology.Binlog && d.pumpsUnread != "" {
		return listed{Database: state.Database{Problem: d.pumpsUnread}}
	}
	if why := d.servicesUnread[k]; why != "" {
		return listed{Database: state.Database{Problem: why}}
	}
	m, ok := d.listed[k][ordinal]
	switch {
	case !ok:
		return listed{Database: d.unlisted(k, pod)}
	case data == topology.Store:
		return m.ofProcess(pod, born)
	case data == topology.Binlog:
		return m.ofPump(pod, born)
	case service:
		return m.ofService(pod)
	}
	return m
}

// ofProcess reduces what PD says about a store to what is valid for the process in its pod now.
func (s listed) ofProcess(pod *state.Pod, born time.Time) listed {
	// A tombstone belongs to the data of the removed store. A store with new data at the same address, on a claim
	// that was made after the last heartbeat, has not registered yet. Taken for the tombstone it would be removed
	// again and again.
	if s.State == state.StoreTombstone && !born.Before(s.heartbeat) {
		return listed{Database: state.Database{Presence: state.Absent}}
	}
	// A store stays Up in PD for 20 s after it died. Only a heartbeat that is
	// younger than the container proves that it comes from this process. PD's clock
	// and the kubelet's may differ.
	if s.Healthy && pod != nil && !s.heartbeat.After(pod.Started.Add(state.ClocksApart)) && !s.registeredBy(pod, born) {
		s.Healthy, s.Problem = false, "PD has not heard of the store since it started"
	}
	s.New = s.State == state.StoreDown && s.heartbeat.IsZero() && pod != nil && s.registeredBy(pod, born)
	if !s.Healthy {
		s.Since = s.heartbeat
	}
	return s
}

// registeredBy reports whether the process that runs now has registered a store that has no regions to open. Such a
// store serves. That is so where PD counts no regions, or where no other process has run on the data. The second
// rule is needed since PD counts the first regions of a new store before the store itself does. Without the rule, a
// store that serves would not count as serving for that moment. The start of the process and that of its container
// are by the clock of the same host.
func (s listed) registeredBy(pod *state.Pod, born time.Time) bool {
	start := s.start.Add(pod.Behind)
	switch {
	case pod.Started.IsZero():
		return false
	case firstProcess(pod, born):
		// The kubelet's time is the later one, and both are cut to seconds.
		return !start.Before(pod.Started.Add(-time.Second))
	}
	return s.Regions == 0 && !start.Before(pod.Started)
}

// firstProcess reports whether no other process has run on a store's data. Then the claim was made together with the
// pod, and the container has not restarted. Both times are those of the API server.
func firstProcess(pod *state.Pod, born time.Time) bool {
	return pod.Restarts == 0 && !born.IsZero() && pod.Made.Sub(born) <= madeTogether
}

// madeTogether is more than the StatefulSet controller takes from a member's claim to its pod. It is less than a pod
// takes to start and to be replaced.
const madeTogether = 3 * time.Second

// answers are the answers of PD.
type answers struct {
	members    *pd.Members
	health     []pd.MemberHealth
	unasked    bool // the health check did not end in time
	stores     []pd.Store
	listedAt   time.Time // when PD answered with the stores
	scheduling pd.Scheduling
	// balancerPaused: the balance-region scheduler is paused.
	balancerPaused bool
	denied         []string // region labels that keep leaders where they are
	unloaded       bool     // PD has not loaded its schedulers
	replication    *pd.ReplicationConfig
	storeDown      time.Duration
	placement      state.Placement
	isolation      state.Isolation
	binlog         []pd.BinlogNode
	binlogAt       time.Time     // when PD answered with them
	pumpsSilent    time.Duration // after which a Pump counts as silent
	binlogErr      error
	services       map[topology.Kind]serviceAnswer
	gaps           []state.Gap
}

// base asks PD. Where PD does not answer everything is unknown.
func (o *Observer) base(ctx context.Context, c topology.Cluster, seen objects) database {
	d := o.askPD(ctx, c, seen)
	o.noteCopies(c, &d)
	return d
}

// askPD returns what PD answers, without what this process knows from before.
func (o *Observer) askPD(ctx context.Context, c topology.Cluster, seen objects) database {
	if c.TLS.Members && o.credentials.config == nil {
		o.history.ledAgain()
		return database{state: state.PD{Problem: "there is no valid certificate to ask it with"}}
	}
	var urls []string
	for n, pod := range seen.pdPods(c) {
		if pod.Status.Phase == corev1.PodRunning {
			urls = append(urls, c.PDPart().MemberURL(topology.PD, n, topology.PDClientPort))
		}
	}
	if len(urls) == 0 {
		o.history.ledAgain() // PD did not say that there is no leader
		return database{state: state.PD{Problem: noPDRuns(c)}}
	}
	slices.Sort(urls)
	client := o.client(urls)
	short, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	got, err := ask(short, client, o.now, o.renewed(seen.pdPods(c)))
	if err != nil {
		return database{state: o.unanswered(ctx, client, c, seen, err)}
	}
	o.history.ledAgain()
	o.readPumps(short, client, c, &got)
	o.readServices(short, client, c, &got)
	o.placement(ctx, client, c, seen, &got)
	o.denials(short, client, c, seen, &got)
	got.readBalancer(short, client, c, seen)
	o.readCopies(ctx, client, c, &got)
	d := got.sort(c)
	if d.state.Shared {
		d.state.LockedBy = lockedBy(short, client, c)
	}
	return d
}

// noPDRuns says that no member of PD can be asked.
func noPDRuns(c topology.Cluster) string {
	if c.UsesOtherPD() {
		return fmt.Sprintf("no PD pod of %s is running", c.Joined)
	}
	return "no PD pod is running"
}

func ask(ctx context.Context, client pd.Client, now func() time.Time, renewed bool) (answers, error) {
	a := answers{scheduling: pd.Scheduling{Batch: -1, LeaderLimit: -1, ReplicaLimit: -1, RegionLimit: -1}}
	whole := ctx
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() (err error) { a.members, err = client.Members(ctx); return })
	all.Go(func() (err error) { a.health, a.unasked, err = health(ctx, client, renewed); return })
	all.Go(func() (err error) { a.replication, err = client.ReplicationConfig(ctx); return })
	all.Go(func() (err error) {
		if a.stores, err = client.Stores(ctx); errors.Is(err, pd.ErrNotBootstrapped) {
			return nil
		}
		a.listedAt = now()
		return err
	})
	all.Go(func() error {
		got, err := client.Scheduling(ctx)
		a.unloaded = errors.Is(err, pd.ErrSchedulersNotLoaded)
		switch {
		case err == nil:
			a.scheduling = *got
		case errors.Is(err, pd.ErrNotBootstrapped) || a.unloaded:
			err = nil
		}
		return err
	})
	if err := all.Wait(); err != nil || !a.anyHeartbeatOverdue() {
		return a, err
	}
	// Only a failover needs it. Where it cannot be read no store is given up too
	// early, since PD itself says when a store is Down.
	a.storeDown, _ = client.MaxStoreDownTime(whole)
	return a, nil
}

// anyHeartbeatOverdue reports whether PD has missed heartbeats of a store.
func (a answers) anyHeartbeatOverdue() bool {
	return slices.ContainsFunc(a.stores, func(s pd.Store) bool {
		return s.State == pd.StoreUp && !s.Healthy()
	})
}

func (a answers) sort(c topology.Cluster) database {
	d := database{
		state: state.PD{
			ClusterID:    a.members.ClusterID,
			Shared:       c.IsPart(),
			Members:      len(a.members.Members),
			Bootstrapped: len(a.stores) > 0,
			MaxReplicas:  a.replication.MaxReplicas,

			SchedulersUnknown: a.unloaded,
			Scheduling:        a.scheduled(),

			LocationLabels: a.replication.LocationLabels,
			IsolationLevel: a.replication.IsolationLevel,
			RulesDisabled:  !a.replication.EnablePlacementRules,
			MaxStoreDown:   a.storeDown,
			Placement:      a.placement,
			Isolation:      a.isolation,
		},
		gaps:       a.gaps,
		listed:     map[topology.Kind]map[int]listed{},
		unplaced:   map[topology.Kind][]unplaced{},
		heartbeats: a.heartbeats(),
		labels:     a.storeLabels(),
	}
	if c.Source != nil {
		d.storesNotLoaded = !d.state.Bootstrapped && c.Source.Status.TiKV.BootStrapped
	}
	if l := a.members.Leader; l != nil {
		d.state.Leader = l.Name
	}
	for _, m := range a.members.Members {
		a.sortMember(c, &d, m)
	}
	slices.SortFunc(d.state.OtherVoters, func(a, b state.OtherVoter) int { return strings.Compare(a.Name, b.Name) })
	for i := range a.stores {
		a.sortStore(c, &d, &a.stores[i])
	}
	a.sortPumps(c, &d)
	a.sortServices(c, &d)
	return d
}

func (a answers) sortMember(c topology.Cluster, d *database, m pd.Member) {
	healthy := a.healthy(m)
	if healthy {
		d.state.Healthy++
	}
	// A member that has not started has no client URL yet, and, unless it is one of
	// the first members, no name. Its peer URL says which pod it belongs to. etcd
	// uses the same URL to decide whether a first member without data may start.
	n, ok := owner(c, topology.PD, slices.Concat(m.PeerURLs, m.ClientURLs)...)
	if !ok {
		d.state.Shared = true
		if m.Name != "" && len(m.ClientURLs) > 0 {
			d.state.OtherVoters = append(d.state.OtherVoters, state.OtherVoter{ID: m.ID, Name: m.Name, ClientURL: m.ClientURLs[0], Healthy: healthy, Unasked: a.unasked})
		}
		if !healthy && !a.unasked { // a member that never comes back would hold all upgrades
			return
		}
		if older, err := topology.IsDowngrade(d.state.OldestElsewhere, m.Version); d.state.OldestElsewhere == "" || err == nil && older {
			d.state.OldestElsewhere = m.Version
		}
		return
	}
	out := state.Database{
		Presence: state.Present, ID: m.ID, Name: m.Name, Healthy: healthy,
		Leader: m.Name != "" && m.Name == d.state.Leader, Version: m.Version,
		Unstarted: len(m.ClientURLs) == 0, Unasked: a.unasked,
	}
	switch {
	case out.Unstarted && m.Name == "":
		out.Problem = "added to PD but has not started"
	case out.Unstarted:
		out.Problem = "one of PD's first members, but has not started yet"
	case a.unasked:
		out.Problem = "PD's health check takes long"
	case !healthy:
		out.Problem = "does not answer PD's health check"
	}
	d.list(topology.PD, n, listed{Database: out})
}

func (a answers) sortStore(c topology.Cluster, d *database, s *pd.Store) {
	up := s.Healthy()
	if s.State != pd.StoreTombstone && !s.Columnar() {
		d.state.Stores++
		if up {
			d.state.UpStores++
		}
	}
	k, n, ok := storeOwner(c, s)
	if !ok {
		d.noteUnplaced(s)
		if s.State != pd.StoreTombstone {
			d.state.OtherStores = append(d.state.OtherStores, state.OtherStore{
				Component: componentOf(s), ID: s.ID, Host: hostOf(s), State: state.StoreState(s.StateName), Leaders: s.LeaderCount,
			})
		}
		d.state.Shared = d.state.Shared || s.State != pd.StoreTombstone
		if s.State != pd.StoreTombstone && !s.Columnar() && !up {
			d.state.Elsewhere = append(d.state.Elsewhere, a.storeElsewhere(s))
		}
		return
	}
	// An address can have had several stores. The newest store that is no tombstone counts, or the newest tombstone
	// if all are tombstones.
	last, had := d.listed[k][n]
	lastLives, lives := had && last.State != state.StoreTombstone, s.State != pd.StoreTombstone
	if lastLives && !lives || lastLives == lives && last.ID > s.ID {
		return
	}
	d.list(k, n, listed{
		Database: state.Database{
			Presence: state.Present, ID: s.ID, Healthy: up, State: state.StoreState(s.StateName),
			Evicting: slices.Contains(a.scheduling.Evicting, s.ID),
			Leaders:  s.LeaderCount, Regions: s.RegionCount, RegionWeight: s.RegionWeight, NoRegions: s.NoRegions, Version: s.Version,
			Capacity: topology.Size(s.Capacity), Available: topology.Size(s.Available), Used: topology.Size(s.Used),
		},
		heartbeat: a.byOurClock(s), start: s.StartTime, labels: s.Labels,
	})
}

// storeElsewhere returns what PD says of a store of another cluster that it does not call Up.
func (a answers) storeElsewhere(s *pd.Store) state.StoreElsewhere {
	const silent = 30 * time.Second // a store that serves sends a heartbeat every ten seconds
	return state.StoreElsewhere{
		ID: s.ID, Address: s.Address, State: state.StoreState(s.StateName),
		Serves: s.State == pd.StoreOffline && a.listedAt.Sub(a.byOurClock(s)) < silent,
	}
}

// byOurClock returns when PD got the last heartbeat of a store, by the clock of the API server. PD dates it by the
// clock of its leader's host. If that clock is minutes behind, a store that has missed a few heartbeats would look
// as if it had been silent for minutes. Such a store would be restarted for that. The difference is rounded up, to a
// later heartbeat, so that it is the same each time. The date of an answer is cut to seconds, and the answer takes a
// moment.
func (a answers) byOurClock(s *pd.Store) time.Time {
	if s.LastHeartbeat.IsZero() || s.Answered.IsZero() {
		return s.LastHeartbeat
	}
	const moment, step = 2 * time.Second, 10 * time.Second
	behind := a.listedAt.Sub(s.Answered) - moment
	rounded := behind.Truncate(step)
	if rounded < behind {
		rounded += step
	}
	return s.LastHeartbeat.Add(rounded)
}

// storeOwner returns the member of this cluster that a store belongs to.
func storeOwner(c topology.Cluster, s *pd.Store) (topology.Kind, int, bool) {
	for _, k := range topology.Kinds() {
		if k.Data() != topology.Store {
			continue
		}
		if n, ok := owner(c, k, "store://"+s.Address); ok {
			return k, n, true
		}
	}
	return "", 0, false
}

// owner returns the member of this cluster that an address belongs to. An address
// of another Kubernetes cluster, or of another TiDB cluster, belongs to none.
func owner(c topology.Cluster, k topology.Kind, urls ...string) (int, bool) {
	for _, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil {
			continue
		}
		if n, ok := c.HostOrdinal(k, u.Hostname()); ok {
			return n, true
		}
	}
	return 0, false
}
