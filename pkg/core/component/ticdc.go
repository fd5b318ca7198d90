package component

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TiCDC's members are captures: each sends the changes of some tables to where changefeeds say. One capture, the owner,
// gives out the tables. A capture that ends with its tables stops their changefeeds until other captures have noticed
// the end. So tables leave before a capture is restarted or removed. Captures keep nothing themselves: what has been
// sent is recorded in PD.
func TiCDC() plan.Profile {
	return plan.Profile{
		Kind:          topology.TiCDC,
		Needs:         []plan.Need{pdServes, pdUpgraded, tsoServes, tikvServes},
		Standing:      []plan.Hook{drainForgotten},
		BeforeRestart: []plan.Hook{ownerMoved, tablesMoved},
		BeforeRemove:  []plan.Hook{feedsServed, ownerMoved, tablesMoved, plan.LeftoverMarked},
	}
}

const (
	// askAgain is how often TiCDC is asked for a drain that is under way. Only the answer says how many tables are
	// left, and a new owner does not know of the drain.
	askAgain = 5 * time.Second
	// askUnknown is the same while TiCDC does not answer.
	askUnknown = time.Minute
	// drainedFor is how long a capture without tables stays without: TiCDC balances tables after a while.
	drainedFor = 30 * time.Second
	// confirmed is how far apart two answers are that no tables are left. Only then they are believed.
	confirmed = 3 * time.Second
)

// drainingVersion is the first release that can drain a capture.
const drainingVersion = "v6.3.0"

// ownerMoved is the goal that another capture is the owner of TiCDC. It does not drain its owner.
var ownerMoved = plan.Hook{
	Reason: plan.CaptureOwnerMoved, Want: "another capture the owner of TiCDC",
	Done: func(sc plan.Scope, m state.Member) bool {
		c := m.Database.Capture
		return idle(sc, m) || !c.Owner && c.Leads != ""
	},
	Skip: undrainable, Step: drain, Since: drainingSince, Timeout: drainTimeout,
	Observed: func(_ plan.Scope, m state.Member) string {
		switch c := m.Database.Capture; {
		case c.Drains == state.DrainsUnknown:
			return "TiCDC does not say which one is"
		case c.Owner:
			return "it is the owner"
		}
		return "there is no owner"
	},
	Help: drainHelp,
}

// tablesMoved is the goal that no tables are left on a capture.
var tablesMoved = plan.Hook{
	Reason: plan.TablesMoved, Want: "all tables moved to other captures",
	Done: func(sc plan.Scope, m state.Member) bool {
		return idle(sc, m) || saidEmpty(sc, m) && !surprisingly(sc, m)
	},
	Skip: func(sc plan.Scope, m state.Member) string {
		if saidEmpty(sc, m) && surprisingly(sc, m) {
			return "TiCDC " + m.Database.Version + " does not drain in its new architecture"
		}
		return undrainable(sc, m)
	},
	Step: drain, Since: drainingSince, Timeout: drainTimeout,
	Observed: func(sc plan.Scope, m state.Member) string {
		if n := tablesLeft(sc, m); n.Unit != "" {
			return remedy.Count(int(n.Number), "table", "tables") + " left"
		}
		return "TiCDC does not say how many are left"
	},
	Left: tablesLeft,
	Help: drainHelp,
}

// feedsServed holds before a capture is removed: another one continues the changefeeds. Without any they
// stop, and after gc-ttl TiKV deletes what they have not sent.
var feedsServed = plan.Hook{
	Reason: plan.ChangefeedsServed, Want: "a capture for the changefeeds",
	Refuse: func(sc plan.Scope, m state.Member) string {
		c := m.Database.Capture
		switch {
		case sc.Policy.Eviction.StopFeeds || captureEnded(sc, m) || othersTake(sc, m) || staying(sc) != "":
		case c.Drains == state.CanDrain && c.Feeds > 0:
			return "it is the last capture, and " + remedy.Count(c.Feeds, "changefeed runs", "changefeeds run")
		case c.Drains == state.CannotDrain:
			return "it is the last capture, and its version does not say whether changefeeds run"
		}
		return ""
	},
	Done: func(sc plan.Scope, m state.Member) bool {
		c := m.Database.Capture
		return sc.Policy.Eviction.StopFeeds || captureEnded(sc, m) || othersTake(sc, m) || c.Drains == state.CanDrain && c.Feeds == 0
	},
	Observed: func(sc plan.Scope, m state.Member) string {
		if other := staying(sc); other != "" {
			return other + " is to continue them, and does not serve"
		}
		return "TiCDC does not say whether changefeeds run"
	},
	Help: func(sc plan.Scope, m state.Member) remedy.Remedy {
		pd := "--pd=" + sc.Cluster.PDURLs()
		return remedy.Remedy{
			remedy.Run("pause or remove the changefeeds; see them", sc.Cluster.Kubectl("exec", m.Name, "-c", string(m.Kind), "--", "/cdc", "cli", "changefeed", "list", pd)),
			remedy.Run("let them stop", sc.Cluster.Plugin("sync", "--stop-changefeeds")),
		}
	},
}

// othersTake reports whether another capture can take the tables of this capture. TiCDC lists a capture for some
// seconds after its process has ended. So what TiCDC lists counts only if another member serves.
func othersTake(sc plan.Scope, m state.Member) bool {
	c, old := m.Database.Capture, m.Database.Capture.Drains == state.CannotDrain
	for _, o := range sc.Got.Members {
		if o.Ordinal != m.Ordinal && o.Up() {
			return old || c.Others > 0
		}
	}
	return c.Others >= len(sc.Got.Members) // some are elsewhere
}

// staying returns a capture that is to stay and does not serve now, "" where there is none.
func staying(sc plan.Scope) string {
	for _, o := range sc.Got.Members {
		if sc.Kept(o) && !o.Up() {
			return o.Name
		}
	}
	return ""
}

// idle reports whether a capture surely has no tables. Either its process does not run, or TiCDC
// has no changefeeds for it.
func idle(sc plan.Scope, m state.Member) bool {
	c := m.Database.Capture
	return captureEnded(sc, m) || c.Drains == state.CanDrain && c.Feeds == 0
}

// captureEnded reports whether a capture surely does not run, so that others have its tables, or nobody.
func captureEnded(sc plan.Scope, m state.Member) bool { return m.Stopped() || sc.SurelyDown(m) }

// undrainable returns why tables cannot leave a capture, "" if they can.
func undrainable(sc plan.Scope, m state.Member) string {
	c, d := m.Database.Capture, m.Database
	refused, _ := draining(sc, m)
	switch {
	case c.Drains == state.CannotDrain || refused.Refused || tooOld(d.Version):
		return "TiCDC " + d.Version + " cannot drain a capture"
	case c.Drains == state.CanDrain && c.Others == 0:
		return "there is no other capture"
	case sc.Kept(m) && topology.MajorsApart(d.Version, sc.Want.Version) > 1:
		return fmt.Sprintf("captures of %s and %s do not share tables", d.Version, sc.Want.Version)
	}
	return ""
}

// saidEmpty reports whether TiCDC has said twice, and some seconds apart, that a capture has no tables.
func saidEmpty(sc plan.Scope, m state.Member) bool {
	d, ok := draining(sc, m)
	return ok && answered(d, m) && d.Tables == 0 && sc.All.At.Sub(d.Asked) < drainedFor &&
		!d.Empty.IsZero() && d.Asked.Sub(d.Empty) >= confirmed
}

// surprisingly reports whether the answer that no tables are left is no proof. TiCDC has never said that there were
// tables, and in its new architecture this version answers so without moving a table. In the former architecture the
// same version drains.
func surprisingly(sc plan.Scope, m state.Member) bool {
	d, _ := draining(sc, m)
	return d.Most <= 0 && movesNone(m.Database.Version)
}

// movesNone reports whether a version, in its new architecture, answers a drain and moves nothing. Such versions are
// v8.5.4 to v8.5.6, with or without a suffix, and v9.0.0 before its release.
func movesNone(version string) bool {
	before, err := topology.IsDowngrade("v8.5.4", version)
	fixed, failed := topology.IsDowngrade("v8.5.7", version)
	return err == nil && failed == nil && !before && fixed || strings.HasPrefix(version, "v9.0.0-")
}

// tooOld reports whether a version is known not to drain captures.
func tooOld(version string) bool {
	old, err := topology.IsDowngrade(drainingVersion, version)
	return err == nil && old
}

// draining returns our record of a drain of the present capture that is under way.
func draining(sc plan.Scope, m state.Member) (state.Drain, bool) {
	d, _ := sc.All.Drain(m.Name) // a record that is missing names no pod
	id := m.Database.Capture.ID
	if m.Pod == nil || d.PodUID != m.Pod.UID || id != "" && d.Capture != "" && d.Capture != id || sc.All.At.Sub(d.Asked) >= plan.DrainEnds {
		return state.Drain{}, false
	}
	return d, true
}

// answered reports whether what a record says is the answer of the present owner about the present
// capture.
func answered(d state.Drain, m state.Member) bool {
	c := m.Database.Capture
	return c.Drains == state.CanDrain && d.Capture == c.ID && d.Of == c.Leads
}

func drainingSince(sc plan.Scope, m state.Member) time.Time {
	d, _ := draining(sc, m)
	return d.Since
}

func drainTimeout(sc plan.Scope) (time.Duration, bool) { return sc.Want.DrainTimeout, true }

func tablesLeft(sc plan.Scope, m state.Member) plan.Quantity {
	d, ok := draining(sc, m)
	if !ok || !answered(d, m) || d.Tables == state.TablesUnknown {
		return plan.Quantity{}
	}
	return plan.Quantity{Number: int64(d.Tables), Unit: plan.Tables}
}

// drain asks TiCDC, again and again, for the owner to resign or for tables to leave. While TiCDC does not answer, only
// the record is written: with the time of its start the wait has an end. The record of a drain which tidb-operator
// began is taken over first.
func drain(sc plan.Scope, m state.Member) step.Step {
	if !m.Pod.DrainBegun.IsZero() {
		return nil
	}
	d, under := draining(sc, m)
	c, pause := m.Database.Capture, askAgain
	known := c.Drains == state.CanDrain
	switch {
	case !known:
		pause = askUnknown
	case under && d.Tables == 0:
		pause = confirmed
	}
	if (!known || answered(d, m)) && sc.All.At.Sub(d.Asked) < pause {
		return nil
	}
	s := step.DrainCapture{Component: m.Kind, Member: m.Name, PodUID: m.Pod.UID, Owner: c.Owner, Again: under}
	if known {
		s.Capture = c.ID
	}
	return s
}

// drainForgotten deletes the record of a drain that is over, since the capture is not to be restarted. That of
// a pod that is gone is deleted whatever else waits.
var drainForgotten = plan.Hook{
	Reason: plan.DrainForgotten, Want: "drain record deleted",
	Done: func(sc plan.Scope, m state.Member) bool {
		d, ours := sc.All.Drain(m.Name)
		return !ours || m.Pod == nil || d.PodUID != m.Pod.UID || sc.IsToRestart(m) && !sc.LeftToUser(m)
	},
	Step: func(_ plan.Scope, m state.Member) step.Step {
		return step.ForgetDrain{Component: m.Kind, Member: m.Name, PodUID: m.Pod.UID}
	},
}

func drainHelp(sc plan.Scope, m state.Member) remedy.Remedy {
	return remedy.Remedy{remedy.Run("see what TiCDC does: captures and changefeeds in its log", sc.Cluster.Kubectl("logs", m.Name, "-c", string(m.Kind)))}
}
