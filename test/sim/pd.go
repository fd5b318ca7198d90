package sim

import (
	"fmt"
	"slices"
)

// pdCluster is PD: an etcd membership and who leads it.
type pdCluster struct {
	id          uint64 // the cluster id, 0 until it is bootstrapped
	bootstraps  int
	members     []pdMember
	leader      uint64
	electAt     int64 // when the next leader is elected; never while there is no election
	silentUntil int64 // until when PD does not answer us
	ledAt       int64 // when it had a leader last
	storeless   int64 // until when it answers, but not about stores
	idle        int64 // until when it moves neither leaders nor replicas
	stall       stall
	limit       leaderLimit
	held        int64  // until when PD moves no replicas for balance
	startedAt   int64  // when a member started last
	loadedAt    int64  // when the leader has loaded its schedulers
	elsewhere   int64  // until when the members in the other Kubernetes cluster are away
	committed   uint64 // how far its log is committed
	patrol      patrol
}

type pdMember struct {
	id      uint64
	ordinal int   // -1: it runs in another Kubernetes cluster
	named   bool  // PD knows its name: of a founder from the first, else since it has started
	started bool  // it has been there
	unheard int64 // until when PD's health check misses it
	// template is that of the pod whose process was there last.
	template string
	// committed is how far the member knows PD's log as committed.
	committed uint64
}

// joinTime is how long a PD process needs until it takes part.
const joinTime = 3

func (c *pdCluster) member(id uint64) *pdMember {
	for i := range c.members {
		if c.members[i].id == id {
			return &c.members[i]
		}
	}
	return nil
}

// memberAt finds the member that PD takes the ordinal's pod for.
func (c *pdCluster) memberAt(ordinal int) *pdMember {
	for i := range c.members {
		if c.members[i].ordinal == ordinal {
			return &c.members[i]
		}
	}
	return nil
}

func (c *pdCluster) quorum() int { return len(c.members)/2 + 1 }

// alive reports whether the member's process takes part in the quorum.
func (w *Model) alive(m pdMember) bool {
	if m.ordinal < 0 {
		return w.t >= w.pd.elsewhere
	}
	p, c := w.pods[pd][m.ordinal], w.claims[pd][m.ordinal]
	return w.works(p) && c != nil && c.data == m.id && p.joined != 0 && w.t >= p.joined
}

func (w *Model) aliveMembers() int {
	n := 0
	for i := range w.pd.members {
		if w.alive(w.pd.members[i]) {
			n++
		}
	}
	return n
}

// healthyMembers is how many members PD calls healthy, or say themselves that they are.
func (w *Model) healthyMembers() int {
	n := 0
	for _, m := range w.pd.members {
		if w.pinged(m) || w.takesPart(m) {
			n++
		}
	}
	return n
}

func (w *Model) hasQuorum() bool {
	return len(w.pd.members) > 0 && w.aliveMembers() >= w.pd.quorum()
}

// serving reports whether PD does what it is asked.
func (w *Model) serving() bool {
	return w.pd.leader != 0 && w.hasQuorum()
}

func (w *Model) tickPD() {
	for i, p := range w.pods[pd] {
		if w.works(p) && p.joined == 0 && w.claims[pd][i] != nil {
			w.enter(i, p, w.claims[pd][i])
		}
	}
	w.elect()
	w.commit()
}

// commit lets PD's log grow in each second in which PD serves. Members of PD and clients write to it.
func (w *Model) commit() {
	if !w.serving() {
		return
	}
	w.pd.committed++
	for i := range w.pd.members {
		if m := &w.pd.members[i]; w.alive(*m) {
			m.committed = w.pd.committed
		}
	}
}

// enter is what the start script and the PD process do before they serve.
func (w *Model) enter(i int, p *pod, c *claim) {
	switch own := w.pd.memberAt(i); {
	case c.data != 0 && w.pd.member(c.data) == nil:
		w.halt(p, 30) // the others report that it was removed
	case c.data != 0:
		w.rise(w.pd.member(c.data), p)
	case own != nil && own.named && !own.started && p.advice.founds(i):
		c.data = own.id
		w.rise(own, p)
	case own != nil:
		w.refuse(i, p, own)
	case p.advice.founds(i):
		w.found(p.advice)
		if c.data == 0 && w.pd.id != 0 {
			c.data = forgotten // it was started by members that have removed it since
		}
	case p.advice.join && w.serving():
		w.join(i, p, c)
	default:
		w.halt(p, 5) // the script asks again
	}
}

// rise starts a member that PD knows, perhaps for the first time.
func (w *Model) rise(m *pdMember, p *pod) {
	m.named, m.started, m.template = true, true, p.revision
	p.joined, w.pd.startedAt = w.t+joinTime, w.t
}

// forgotten is data of a member that the others do not know.
const forgotten = 1

// refuse stops a process that wants to join. PD lets no member join with the name of a listed member.
// etcd asks the other members as well whether they have seen a founder before. With no other member to
// say so, a founder that has lost its data would vote again.
func (w *Model) refuse(i int, p *pod, own *pdMember) {
	if own.started && p.advice.founds(i) && w.aliveMembers() == 0 {
		w.broke("bootstrap", "%s founds again, with the id that it has voted with", w.names[pd][i])
	}
	w.halt(p, 30)
}

// found bootstraps a cluster as soon as most of its initial members run, all of them without data.
func (w *Model) found(a advice) {
	there := 0
	for i := range a.founders.each() {
		p, c := w.pods[pd][i], w.claims[pd][i]
		if w.works(p) && p.advice == a && c != nil && (c.data == 0 || c.data == forgotten) {
			there++
		}
	}
	if there < a.founders.replicas/2+1 {
		return
	}
	w.pd.bootstraps++
	w.pd.id = uint64(7000 + w.pd.bootstraps)
	w.pd.members, w.pd.leader, w.pd.electAt = nil, 0, never
	for i := range a.founders.each() {
		m := pdMember{id: 100 + w.number(), ordinal: i, named: true}
		p, c := w.pods[pd][i], w.claims[pd][i]
		if w.works(p) && p.advice == a && c != nil && (c.data == 0 || c.data == forgotten) {
			c.data, m.started, m.template, p.joined = m.id, true, p.revision, w.t+joinTime
		}
		w.pd.members = append(w.pd.members, m)
	}
	for range w.Elsewhere {
		w.pd.members = append(w.pd.members, pdMember{id: 100 + w.number(), ordinal: -1, named: true, started: true})
	}
	w.pd.startedAt = w.t
}

// join adds a voter as etcd's strict reconfiguration allows it. Voters are added one at a time, and only
// if the started members are a majority with the new voter.
func (w *Model) join(i int, p *pod, c *claim) {
	started := 0
	for _, m := range w.pd.members {
		if m.started {
			started++
		}
	}
	n := len(w.pd.members)
	if started < n || n > 1 && started < (n+1)/2+1 || w.aliveMembers() < w.pd.quorum() {
		w.halt(p, 5)
		return
	}
	c.data = 100 + w.number() // PD saves its id before it starts
	w.pd.members = append(w.pd.members, pdMember{id: c.data, ordinal: i})
}

func (w *Model) elect() {
	c := &w.pd
	defer func() {
		if c.leader != 0 {
			c.ledAt = w.t
		}
	}()
	if !w.hasQuorum() {
		c.leader, c.electAt = 0, never
		return
	}
	if m := c.member(c.leader); m != nil && w.alive(*m) {
		return
	}
	c.leader = 0
	if c.electAt == never {
		c.electAt = w.t + w.between(3, 14)
	}
	if w.t < c.electAt {
		return
	}
	c.electAt = never
	n := 0
	if w.chaos {
		n = w.rng.IntN(len(c.members))
	}
	for i := range c.members {
		if m := c.members[(n+i)%len(c.members)]; w.alive(m) {
			c.leader = m.id
			w.led()
			return
		}
	}
}

func (w *Model) moveLeader(from, to string) error {
	if !w.serving() || !w.reached() {
		return errNoPD
	}
	f, _ := w.index(kinds[pd], from)
	t, _ := w.index(kinds[pd], to)
	leader, target := w.pd.member(w.pd.leader), w.pd.memberAt(t)
	if leader.ordinal != f {
		return fmt.Errorf("%s does not lead", from)
	}
	if target == nil || !w.alive(*target) {
		return fmt.Errorf("no valid pd to transfer the leader to")
	}
	w.leadBy(target)
	return nil
}

// leadBy makes a member PD's leader.
func (w *Model) leadBy(m *pdMember) {
	w.pd.leader = m.id
	w.led()
	w.Soft.LeaderMoves++
}

// removeMember removes a member as package act does: only where another member here can be asked.
func (w *Model) removeMember(id uint64) error {
	if !w.serving() || !w.reached() {
		return errNoPD
	}
	if m := w.pd.member(id); m != nil && w.connected() && w.alive(*m) && !w.othersHere(id) {
		return fmt.Errorf("no other member could be asked")
	}
	return w.dropMember(id)
}

// connected reports whether PD takes its members for connected: none has started a moment ago.
func (w *Model) connected() bool { return w.t-w.pd.startedAt >= 5 }

// othersHere reports whether another member in this Kubernetes cluster takes part.
func (w *Model) othersHere(id uint64) bool {
	return slices.ContainsFunc(w.pd.members, func(m pdMember) bool { return m.id != id && m.ordinal >= 0 && w.alive(m) })
}

// dropMember is what PD does: it follows etcd's strict reconfiguration.
func (w *Model) dropMember(id uint64) error {
	m := w.pd.member(id)
	if m == nil {
		return nil
	}
	if !w.connected() {
		return fmt.Errorf("etcdserver: unhealthy cluster")
	}
	if err := w.dispensable(m); err != nil {
		return err
	}
	w.expel(id)
	return nil
}

// dispensable returns an error unless PD has a quorum without the member.
func (w *Model) dispensable(m *pdMember) error {
	left, started, alive := len(w.pd.members)-1, 0, 0
	for _, o := range w.pd.members {
		if o.id == m.id {
			continue
		}
		if o.named {
			started++
		}
		if w.alive(o) {
			alive++
		}
	}
	if majority := left/2 + 1; started < majority || w.alive(*m) && alive < majority {
		return fmt.Errorf("etcdserver: re-configuration failed due to not enough started members")
	}
	return nil
}

// expel takes a member out of the membership.
func (w *Model) expel(id uint64) {
	m := w.pd.member(id)
	if m == nil {
		return
	}
	if m.ordinal >= 0 {
		// Its process runs until it is restarted, but takes no part any more.
		if p := w.pods[pd][m.ordinal]; w.works(p) {
			w.halt(p, 30)
		}
	}
	w.pd.members = slices.DeleteFunc(w.pd.members, func(m pdMember) bool { return m.id == id })
	if w.pd.leader == id {
		w.pd.leader, w.pd.electAt = 0, w.t+4
	}
}
