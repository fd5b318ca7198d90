package sim

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// What processes of the database do, for a tier that asks them over HTTP. A process that runs answers for itself,
// whatever PD or Kubernetes report of it. Nothing here is drawn by chance that today's tier draws.

// Random returns the model of the random run of a seed, at its beginning, without daemons.
func Random(seed uint64) *Model {
	o := drawn(seed, rand.New(rand.NewPCG(seed, 2)))
	o.Daemons, o.Slots = 0, nil // the stand-ins of the database number members as the model does
	return begun(o)
}

// Reported returns what an engine is shown that observes now and has never observed before.
func (w *Model) Reported() state.Snapshot { return w.look().snap }

// ClaimMade returns when the claim of a member was made, the zero time where there is none.
func (w *Model) ClaimMade(component topology.Kind, ordinal int) time.Time {
	if c := w.claims[kindOf(component)][ordinal]; c != nil {
		return w.at(c.made)
	}
	return time.Time{}
}

// Port is what a connection to the port of a process meets.
type Port int

// What a connection meets.
const (
	// PortNowhere: no pod has an address to connect to.
	PortNowhere Port = iota
	// PortSilent: nothing comes back, since the host is lost, the tunnel is cut, or a certificate is not accepted.
	PortSilent
	// PortRefused: the pod has an address, and nothing listens.
	PortRefused
	// PortFailing: the process answers that it does not serve.
	PortFailing
	// PortServing: the process answers, and serves.
	PortServing
)

// PortOf returns what a connection to a member's port for requests meets.
func (w *Model) PortOf(component topology.Kind, ordinal int) Port {
	k := kindOf(component)
	p := w.podAt(k, ordinal)
	switch {
	case !w.addressed(p):
		return PortNowhere
	case w.unanswered(p):
		return PortSilent
	case !p.running:
		return PortRefused
	case k.data() == topology.Raft && w.t < w.pd.silentUntil:
		return PortSilent
	}
	switch k.data() {
	case topology.Raft:
		return w.portOfPD(ordinal, p)
	case topology.Store:
		return w.portOfStore(k, ordinal)
	}
	switch {
	case w.portAnswers(k, ordinal) == state.Answered:
		return PortServing
	case p.flaw == statusless, reachesLate[k] && w.t >= p.refuses:
		return PortRefused
	}
	return PortFailing
}

// reachesLate are the components without data whose members open their port only when they serve.
var reachesLate = [components]bool{ticdc: true, pump: true}

func (w *Model) podAt(k kind, ordinal int) *pod {
	if ordinal < 0 || ordinal >= limit {
		return nil
	}
	return w.pods[k][ordinal]
}

// portOfPD is that of a member of PD, which listens when it has joined. One that does not serve because of its template
// answers, and follows nobody. Of a process that is no member nothing listens.
func (w *Model) portOfPD(ordinal int, p *pod) Port {
	switch m := w.pd.memberAt(ordinal); {
	case m != nil && w.alive(*m):
		return PortServing
	case p.flaw == deaf && slices.ContainsFunc(w.listed(), func(m pdMember) bool { return m.ordinal == ordinal }):
		return PortFailing
	}
	return PortRefused
}

// portOfStore is that of a store. TiFlash answers while it starts, and TiKV does not.
func (w *Model) portOfStore(k kind, ordinal int) Port {
	switch {
	case w.storeAnswers(k, ordinal) == state.Answered:
		return PortServing
	case k.learns():
		return PortFailing
	}
	return PortRefused
}

// ReleaseOf returns the release of TiDB in a member's pod. Where there is no pod, it returns the release that the user
// asks for.
func (w *Model) ReleaseOf(component topology.Kind, ordinal int) string {
	k := kindOf(component)
	template := w.Intent.Template[k]
	if p := w.podAt(k, ordinal); p != nil {
		template = p.revision
	}
	return releaseOf(template)
}

// ClockOf returns how far the clock of a member's host is ahead.
func (w *Model) ClockOf(component topology.Kind, ordinal int) time.Duration {
	if ordinal < 0 || ordinal >= limit {
		return 0
	}
	return time.Duration(w.clocks[kindOf(component)][ordinal]) * time.Second
}

// Capture is a process of TiCDC as PD has it.
type Capture struct {
	ID      string
	Ordinal int
	Owner   bool
}

// OwnCapture returns the id of the process in a member's pod.
func (w *Model) OwnCapture(ordinal int) string {
	if p := w.podAt(ticdc, ordinal); p != nil {
		return p.captureID()
	}
	return ""
}

// Captures returns the captures that TiCDC lists, false while requests do not reach its owner.
func (w *Model) Captures() ([]Capture, bool) {
	var all []Capture
	for _, c := range w.cdc.all {
		all = append(all, Capture{c.id, c.ordinal, c.id == w.cdc.owner})
	}
	return all, w.ownerAnswers()
}

// Changefeeds returns how many changefeeds run.
func (w *Model) Changefeeds() int { return min(w.cdc.tables, 1) }

// CanDrain reports whether the version of TiCDC can drain a capture.
func (w *Model) CanDrain() bool { return !w.CannotDrain }

// DrainTables has the owner of TiCDC move tables off a capture, and returns how many there are. It returns false for a
// capture that TiCDC does not know, and for the owner.
func (w *Model) DrainTables(id string) (int, bool) {
	if w.cdc.capture(id) == nil || w.cdc.owner == id {
		return 0, false
	}
	return w.drainNow(id), true
}

// ResignOwner makes another capture the owner of TiCDC.
func (w *Model) ResignOwner() { w.resignOwner() }

// Pump is a Pump as it has registered in PD's etcd.
type Pump struct {
	Ordinal int
	State   state.PumpState
	Updated time.Time // by PD's clock
}

// RegisteredPumps returns the Pumps in PD's etcd.
func (w *Model) RegisteredPumps() []Pump {
	var all []Pump
	for i, r := range w.pumps {
		if r != nil {
			all = append(all, Pump{i, r.state, w.at(r.updated + w.dated() - w.t)})
		}
	}
	return all
}

// ClosePump asks the process of a Pump to close. It reports whether that was asked before.
func (w *Model) ClosePump(ordinal int) (again bool) {
	p, r := w.podAt(pump, ordinal), w.pumps[ordinal]
	if p == nil || r == nil || p.closing {
		return true
	}
	p.closing, r.readAt = true, w.t+w.between(1, 120)
	return false
}

// DDLAnswer is what TiDB does about a request to pause DDL.
type DDLAnswer int

// What TiDB does.
const (
	DDLDone    DDLAnswer = iota // it is as asked
	DDLUnknown                  // there is no such request in this version
	DDLRefused                  // DDL is not paused
	DDLSlow                     // DDL is paused, and the answer is an error
	DDLSilent                   // DDL is paused or not, and there is no answer
)

// DDLPaused reports whether TiDB has paused the DDL statements of users, false if it knows of no pauses.
func (w *Model) DDLPaused() (paused, known bool) { return w.ddl.paused, !w.DDL.Old }

// PauseDDL has TiDB pause the DDL statements of users.
func (w *Model) PauseDDL() DDLAnswer {
	switch {
	case w.DDL.Old:
		return DDLUnknown
	case w.odds(w.DDL.Refuses):
		return DDLRefused
	case w.odds(w.DDL.Slow):
		w.ddl.paused = true
		return DDLSlow
	case w.odds(w.DDL.Silent):
		w.ddl.paused = w.rng.IntN(2) == 0
		return DDLSilent
	}
	w.ddl.paused = true
	return DDLDone
}

// ResumeDDL has TiDB end a pause of the DDL statements of users.
func (w *Model) ResumeDDL() DDLAnswer {
	if w.DDL.Old {
		return DDLUnknown
	}
	w.ddl.paused = false
	return DDLDone
}

// releaseOf returns the release of TiDB that a template stands for, or that its name begins with, as in
// v8.5.0+1a2b3c-deaf.
func releaseOf(template string) string {
	version, _, _ := strings.Cut(asked(template), "-")
	version, _, _ = strings.Cut(version, "+") // what follows distinguishes templates of the same release
	switch release, known := releases[version]; {
	case known:
		return release
	case strings.Contains(version, "."):
		return version
	}
	return releases["v1"]
}
