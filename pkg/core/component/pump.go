package component

import (
	"fmt"
	"path"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Pump's members get the binlog of TiDB and keep it until drainers have read it. Drainers wait for each Pump that is
// not offline. A Pump that goes away with binlog that drainers have not read stops the drainers for ever. So a Pump is
// closed first, and removed when it is offline. Drainers themselves are not driven.
func Pump() plan.Profile {
	return plan.Profile{
		Kind:          topology.Pump,
		Needs:         []plan.Need{pdServes, pdUpgraded, tsoServes},
		BeforeRemove:  []plan.Hook{notJoining, binlogReceived, writersRestarted, pumpOffline, plan.LeftoverMarked},
		BeforeRenew:   []plan.Hook{plan.LeftoverMarked},
		BeforeSuspend: []plan.Hook{tombstoneMarked, claimsKept},
	}
}

// pumpServes is what TiDB needs of Pump: a server that is to write a binlog does not start without one.
var pumpServes = plan.Need{
	Reason: plan.PumpServing, Want: "a Pump online",
	Holds: func(sc plan.Scope) bool {
		if _, driven := sc.All.Groups[topology.Pump]; !sc.Want.Binlog || !driven {
			return true
		}
		for _, m := range sc.All.Groups[topology.Pump].InSet() {
			// While it is not known which Pumps are online, one that is Ready will do.
			if m.Database.Healthy || !sc.All.PD.PumpsKnown && m.Pod != nil && m.Pod.Ready && !m.Pod.Terminating {
				return true
			}
		}
		return sc.All.PD.OtherPumps > 0
	},
	Observed: func(sc plan.Scope) string {
		if !sc.All.PD.PumpsKnown {
			return "it is not known which Pumps are online, and none is Ready"
		}
		return "no Pump is online"
	},
}

// binlogReceived holds before a Pump is closed: another one gets the binlog. TiDB servers whose binlog
// nobody gets stop serving. Servers whose pods are yet to be made count: they are made within the seconds
// that a Pump takes to close.
var binlogReceived = plan.Hook{
	Reason: plan.BinlogReceived, Want: "another Pump for the binlog",
	Refuse: func(sc plan.Scope, m state.Member) string {
		n := writers(sc)
		if set := sc.All.Groups[topology.TiDB].Set; set.Exists {
			n = max(n, set.Replicas)
		}
		if !sc.Want.Binlog || n == 0 || !neededPump(sc, m) {
			return ""
		}
		return "no other Pump is online, and " + remedy.Count(n, "TiDB server writes its binlog", "TiDB servers write their binlog")
	},
	Help: func(sc plan.Scope, _ state.Member) remedy.Remedy {
		return remedy.Remedy{
			remedy.Run("have TiDB write no binlog", sc.Cluster.Patch(`{"tidb":{"binlogEnabled":false}}`), sc.Cluster.Plugin("sync")),
			remedy.Say("ask for another Pump"),
		}
	},
}

// writersRestarted holds before the last Pump is closed where TiDB is to write no binlog any more. TiDB servers write
// their binlog until they are restarted. Where TiDB is to write a binlog, binlogReceived has refused.
var writersRestarted = plan.Hook{
	Reason: plan.BinlogReceived, Want: "TiDB restarted without a binlog", Awaits: topology.TiDB,
	Done: func(sc plan.Scope, m state.Member) bool {
		return writers(sc) == 0 || !neededPump(sc, m)
	},
	Observed: func(sc plan.Scope, _ state.Member) string {
		return remedy.Count(writers(sc), "TiDB server writes its binlog until it is restarted", "TiDB servers write their binlog until they are restarted")
	},
}

// writers is how many TiDB servers write a binlog.
func writers(sc plan.Scope) int {
	n := 0
	for _, db := range sc.All.Groups[topology.TiDB].Members {
		if db.Pod != nil && db.Pod.Binlog {
			n++
		}
	}
	return n
}

// neededPump reports whether TiDB may write to the member, and to no other Pump that serves.
func neededPump(sc plan.Scope, m state.Member) bool {
	for _, o := range sc.Got.Members {
		if o.Ordinal != m.Ordinal && o.Up() {
			return false
		}
	}
	return !leftPump(m) && m.Database.Pump.State != state.PumpClosing && sc.All.PD.OtherPumps == 0
}

// pumpOffline is the goal that drainers have read all that a Pump has. Each process registers it as
// online again, also one that the kubelet starts after that, so only what is written now counts.
var pumpOffline = plan.Hook{
	Reason: plan.PumpOffline, Want: "Pump offline",
	Done: func(_ plan.Scope, m state.Member) bool { return leftPump(m) },
	Refuse: func(_ plan.Scope, m state.Member) string {
		if leftPump(m) || m.Pod != nil || len(m.Claims) > 0 {
			return ""
		}
		return "its pod and its data are gone, and drainers wait for what it had"
	},
	Step: func(sc plan.Scope, m state.Member) step.Step {
		d := m.Database
		if m.Pod == nil || m.Pod.Terminating || !d.Healthy || startsLater(sc, m) != "" {
			return nil
		}
		return step.ClosePump{Component: m.Kind, Member: m.Name, PodUID: m.Pod.UID, Node: d.Pump.Node}
	},
	Observed: func(sc plan.Scope, m state.Member) string {
		p, later := m.Database.Pump, startsLater(sc, m)
		switch {
		case p.State == state.PumpOnline && later != "":
			return fmt.Sprintf("it is online, and stays so until %s runs, which has to be closed as well", later)
		case p.State == state.PumpClosing && p.Reader != "":
			return fmt.Sprintf("it is closing, and drainer %s has yet to read %s", p.Reader, p.Behind)
		case p.State == state.PumpOnline && !m.Database.Healthy:
			return "it is online in PD's etcd, and does not write there"
		}
		return fmt.Sprintf("it is %s", p.State)
	},
	Left: func(_ plan.Scope, m state.Member) plan.Quantity {
		if p := m.Database.Pump; p.State == state.PumpClosing && p.Reader != "" {
			return plan.Quantity{Number: int64(p.Behind / time.Second), Unit: plan.Seconds}
		}
		return plan.Quantity{}
	},
	Patience: plan.Moving,
	Help:     pumpHelp,
}

// startsLater returns a Pump that is to leave and has no pod to be closed in, or "". With OrderedReady Kubernetes makes
// its pod only while the pods with lower ordinals are Ready. The pod of a Pump that was closed is not Ready.
func startsLater(sc plan.Scope, m state.Member) string {
	for _, o := range sc.Got.Members {
		if sc.Got.Set.Ordered && o.Ordinal > m.Ordinal && o.Pod == nil && !leftPump(o) && len(o.Claims) > 0 {
			return o.Name
		}
	}
	return ""
}

// leftPump reports whether nobody waits for what the member has: its Pump is offline, or there has never
// been one.
func leftPump(m state.Member) bool {
	return m.Database.Removed() || m.Database.Presence == state.Absent
}

// pumpHelp is what a person can do about a Pump that does not go offline.
func pumpHelp(sc plan.Scope, m state.Member) remedy.Remedy {
	switch p := m.Database.Pump; {
	case m.Pod == nil:
		const lost = "if what it had is lost, have drainers not wait for it"
		for _, o := range sc.Got.Members {
			if o.Pod != nil && o.Pod.Ready {
				return remedy.Remedy{remedy.Run(lost, binlogctl(sc, o.Name, "update-pump", "-node-id="+p.Node, "-state=offline"))}
			}
		}
		return remedy.Remedy{remedy.Say(lost + ": set the state of " + p.Node + " to offline with binlogctl -cmd update-pump")}
	case m.Database.Healthy:
		return nil
	case p.State == state.PumpClosing:
		return remedy.Remedy{remedy.Run("see which drainers there are: it waits for each that is not offline", binlogctl(sc, m.Name, "drainers"))}
	}
	return remedy.Remedy{
		remedy.Run("start it again, so that it can be closed", sc.Cluster.Delete("pod", m.Name)),
	}
}

// binlogctl returns a command that runs binlogctl in the pod of a Pump.
func binlogctl(sc plan.Scope, pod, command string, more ...string) remedy.Command {
	words := []string{
		"exec", pod, "-c", string(topology.Pump), "--", "/binlogctl", "-cmd", command,
		"-pd-urls=" + sc.Cluster.PDURLs(),
	}
	if sc.Cluster.TLS.Members {
		dir := topology.CertificateDir(topology.Pump.CertificateVolume())
		words = append(words, "-ssl-ca="+path.Join(dir, topology.KeyCA), "-ssl-cert="+path.Join(dir, topology.KeyCertificate), "-ssl-key="+path.Join(dir, topology.KeyPrivate))
	}
	return sc.Cluster.Kubectl(append(words, more...)...)
}
