package sim

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Faults are probabilities: those of the first group per call of the engine,
// those of the second per simulated second.
type Faults struct {
	Fail       float64 // a step fails, at once or half-way
	LostAnswer float64 // a step succeeds and seems to fail
	Delay      float64 // time passes between looking and acting
	Sleep      float64 // a process stops for minutes or hours before a request
	Stale      float64 // the cache shows something old
	NoAnswer   float64 // an observation fails, or lacks a number
	Kill       float64 // the engine is killed after a step
	Stop       float64 // the engine is interrupted while it waits

	Crash       float64 // a process dies and is started again
	EndPod      float64 // a pod ends for good, in a final phase
	Lose        float64 // a host is lost for minutes
	LoseLong    float64 // a host is lost for so long that its members are given up
	PDSilent    float64 // PD cannot be asked for a while
	Forget      float64 // PD loses a scheduler
	EvictByHand float64 // a person evicts leaders from a store
	Elsewhere   float64 // PD members in another Kubernetes cluster go away
	Delete      float64 // a person deletes a pod
	Kubectl     float64 // a person scales a StatefulSet
	Intent      float64 // the user changes the intent
	Release     float64 // the user changes the release of TiDB
	Named       float64 // the user names a member to be restarted
	Replace     float64 // the user names a member to get new volumes
	Mount       float64 // the user mounts a volume at another path, or removes it
	Modify      float64 // the user asks for another VolumeAttributesClass
	Rival       float64 // a second engine begins before the first one sees that its lease is lost
	Late        float64 // heartbeats of a store arrive late
	LoseForGood float64 // a host is lost for good, with what it stored
	Resign      float64 // PD's leader steps down
	Ping        float64 // PD's health check misses a member
	KubeletAway float64 // no request through the kubelet of a host succeeds
	Port        float64 // the status port of a TiDB server answers with errors
	Unlist      float64 // PD lists a store under another address for a while
	// StoreElsewhere: a store of another cluster with the same PD goes away, comes back or leaves.
	StoreElsewhere float64
	Relabel        float64 // a person gives a store the label of another zone
	LoseZone       float64 // all hosts of a zone are lost for a while
	Isolate        float64 // a person sets PD's isolation level, or removes it
	OldReport      float64 // by an old report of its kubelet a process does not run
	Hide           float64 // Kubernetes gets no reports from a host on which all processes run
	TakeOffline    float64 // a person takes a store offline in PD, or back
	Refusing       float64 // one kind of step of one component fails for half an hour
	Standstill     float64 // PD moves nothing for a while
	Stall          float64 // a person sets what keeps PD from moving leaders or regions, for a while
	Fill           float64 // disks of stores are nearly full
	Slot           float64 // users ask for other slots
	DeleteClaim    float64 // a person deletes a claim that is in use
	Template       float64 // a person changes a pod template in the StatefulSet
	Operator       float64 // a tidb-operator drives the cluster for some minutes
	Certificate    float64 // a certificate is put into a Secret that the others do not accept
	Password       float64 // a person sets a password of root
	Rules          float64 // a person disables PD's placement rules
	Expiry         float64 // the certificate of a component expires, and is renewed later
	Saved          bool    // a new leader of PD knows heartbeats only as they were last saved

	// Faults of processes that use the Lease; the first one is per request.
	Refuse      float64 // the API server turns a request down
	Outage      float64 // the API server is away for up to a minute and a half
	KillProcess float64 // a process ends at any moment
	Freeze      float64 // a process makes no progress for a while, as if it were suspended
	Expire      float64 // the watches of a mirror expire
	Command     float64 // the user runs a command beside the daemons
}

// injectFaults causes each fault in this second with its probability.
func (w *Model) injectFaults() {
	f := w.Faults
	if w.rng.Float64() >= f.total() {
		return
	}
	roll := w.rng.Float64() * f.total()
	for _, fault := range []struct {
		odds float64
		do   func()
	}{
		{f.EndPod, w.endPod}, {f.Crash, w.crash}, {f.Lose, w.loseHost}, {f.LoseLong, w.loseHostLong}, {f.PDSilent, w.silencePD}, {f.Forget, w.forget},
		{f.EvictByHand, w.evictByHand}, {f.Elsewhere, w.cutOff}, {f.Delete, w.deletePod}, {f.Kubectl, w.kubectlScale},
		{f.Intent, w.changeIntent}, {f.Rival, w.startRival}, {f.Late, w.delayHeartbeats}, {f.LoseForGood, w.loseHostForGood},
		{f.Resign, w.resign}, {f.Ping, w.miss}, {f.KubeletAway, w.cutTunnel}, {f.Port, w.refusePort}, {f.Hide, w.hide},
		{f.TakeOffline, w.deleteStore}, {f.Refusing, w.breakStep}, {f.Standstill, w.standStill}, {f.DeleteClaim, w.deleteClaimInUse}, {f.Operator, w.startOperator},
		{f.Certificate, w.spoilCertificate}, {f.Expiry, w.expireCertificate}, {f.Password, w.setPasswordByHand}, {f.Rules, w.disableRules},
		{f.Outage, w.outage}, {f.KillProcess, w.killProcess}, {f.Freeze, w.freeze}, {f.Expire, w.expire}, {f.Command, w.runCommand},
		{f.Named, w.restartAny}, {f.Replace, w.replaceAny}, {f.Mount, w.moveMount}, {f.Modify, w.modifySome}, {f.Stall, w.stallPD}, {f.Template, w.changeTemplate}, {f.OldReport, w.reportLate},
		{f.StoreElsewhere, w.changeElsewhere}, {f.Release, w.changeRelease}, {f.Unlist, w.unlist}, {f.Relabel, w.relabel}, {f.Isolate, w.isolate}, {f.LoseZone, w.loseZone}, {f.Fill, w.fillDisks}, {f.Slot, w.changeSlots},
	} {
		if roll < fault.odds {
			fault.do()
			return
		}
		roll -= fault.odds
	}
}

func (f Faults) total() float64 {
	return f.EndPod + f.Crash + f.Lose + f.LoseLong + f.PDSilent + f.Forget + f.EvictByHand + f.Elsewhere + f.Delete + f.Kubectl + f.Intent +
		f.Rival + f.Late + f.LoseForGood + f.Resign + f.Ping + f.KubeletAway + f.Port + f.Hide + f.TakeOffline + f.Refusing + f.Standstill + f.DeleteClaim + f.Operator + f.Outage + f.KillProcess + f.Freeze + f.Expire + f.Command + f.Certificate + f.Expiry + f.Password + f.Rules + f.Named + f.Replace + f.Mount + f.Modify + f.Stall + f.Template + f.OldReport + f.StoreElsewhere + f.Release + f.Unlist + f.Relabel + f.Isolate + f.LoseZone + f.Fill + f.Slot
}

func (w *Model) anyPod() (kind, int, *pod) {
	k, i := w.anyKind(), w.rng.IntN(limit)
	for range limit {
		if p := w.pods[k][i]; p != nil && p.running && p.lost == 0 {
			return k, i, p
		}
		i = (i + 1) % limit
	}
	return 0, 0, nil
}

func (w *Model) crash() {
	if k, i, p := w.anyPod(); p != nil {
		w.note("fault: %s crashes", w.names[k][i])
		w.halt(p, w.between(5, 90))
	}
}

func (w *Model) loseHostLong() {
	if k, i, p := w.anyPod(); p != nil {
		seconds := w.between(600, 4500)
		w.note("fault: the host of %s is lost for %d s", w.names[k][i], seconds)
		w.lose(p, seconds)
	}
}

func (w *Model) deletePod() {
	if k, i, p := w.anyPod(); p != nil && !p.terminating() {
		w.note("fault: a person deletes pod %s", w.names[k][i])
		w.remove(p)
	}
}

func (w *Model) kubectlScale() {
	k := w.anyKind()
	if s := &w.sets[k]; s.exists && w.rng.IntN(6) == 0 {
		w.note("fault: a person deletes the StatefulSet of %s without its pods", kinds[k].Title())
		w.orphan(k)
	} else if s.exists {
		spec := s.spec
		spec.replicas = min(max(0, spec.replicas-2+w.rng.IntN(4)), limit-1-len(spec.slots.list()))
		w.note("fault: a person scales the StatefulSet of %s to %d", kinds[k].Title(), spec.replicas)
		w.change(s, spec)
	}
}

func (w *Model) silencePD() {
	until := w.t + w.between(5, 120)
	if w.rng.IntN(2) == 0 {
		w.note("fault: PD cannot be asked until %s", clock(until))
		w.pd.silentUntil = until
		return
	}
	w.note("fault: PD answers without its stores until %s", clock(until))
	w.pd.storeless = until
}

func (w *Model) forget() {
	for _, s := range w.stores {
		if e := w.evicts[s.id]; e != nil && e.ours {
			w.note("fault: PD forgets the scheduler of store %d", s.id)
			delete(w.evicts, s.id)
			return
		}
	}
}

func (w *Model) evictByHand() {
	if len(w.stores) == 0 {
		return
	}
	s := w.stores[w.rng.IntN(len(w.stores))]
	_, recorded := w.recordOf(s.id)
	switch e := w.evicts[s.id]; {
	case e == nil && recorded: // then it could not be distinguished from ours
	case e == nil:
		w.note("fault: a person evicts leaders from store %d", s.id)
		w.evicts[s.id] = &scheduler{}
	case !e.ours:
		w.note("fault: a person allows leaders on store %d", s.id)
		delete(w.evicts, s.id)
	}
}

func (w *Model) cutOff() {
	if w.Elsewhere > 0 {
		w.pd.elsewhere = w.t + w.between(10, 300)
		w.note("fault: PD members elsewhere are away until %s", clock(w.pd.elsewhere))
	}
}

// changeIntent is a user who changes the spec before the last change is done.
func (w *Model) changeIntent() {
	w.changeCanary()
	switch whims := w.whims(); whims[w.rng.IntN(len(whims))] {
	case 0:
		w.Scale(topology.PD, 1+w.rng.IntN(5))
	case 1, 2:
		w.Scale(topology.TiKV, w.fold(2)*(3+w.rng.IntN(4)))
	case 3:
		w.Scale(topology.TiDB, w.fold(4)*w.rng.IntN(4))
	case 4:
		w.Upgrade(w.anyTemplate())
	case 5:
		w.Upgrade(w.anyTemplate(), kinds[w.anyKind()])
	case 6:
		w.Upgrade("v1")
	case 7:
		w.togglePause()
	case 8:
		w.Suspend(w.lastOf(w.rng.IntN(len(w.in()) + 1))...)
	case 9:
		w.resizeSome()
	case 10:
		w.Manual(kinds[w.anyKind()])
	case 11, 12:
		w.Scale(topology.TiFlash, w.rng.IntN(4))
	case 13:
		w.askTables(w.rng.IntN(4))
	case 14:
		w.Scale(topology.TiProxy, w.rng.IntN(4))
	case 15:
		w.Suspend(topology.TiProxy)
	case 16, 17:
		w.Scale(topology.TiCDC, w.rng.IntN(4))
	case 18:
		w.changeFeeds(w.rng.IntN(8))
	case 19, 20:
		w.Scale(topology.Pump, w.rng.IntN(4))
	}
}

// whims returns the kinds of changes that a user may think of.
func (w *Model) whims() []int {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	if w.TiFlash > 0 {
		all = append(all, 11, 12, 13)
	}
	if w.TiProxy > 0 {
		all = append(all, 14, 15)
	}
	if w.TiCDC > 0 {
		all = append(all, 16, 17, 18)
	}
	if w.Pump > 0 {
		all = append(all, 19, 20)
	}
	return all
}

// askTables is a user who changes how many replicas tables have in TiFlash. TiDB refuses more than
// there are stores.
func (w *Model) askTables(n int) {
	up := 0
	for _, s := range w.stores {
		if s.k.learns() && s.state == state.StoreUp {
			up++
		}
	}
	w.asks = min(n, up)
	w.note("user: tables ask for %d replicas in TiFlash", w.asks)
}

// lastOf returns the components from a place in dependency order on.
func (w *Model) lastOf(from int) []topology.Kind {
	var these []topology.Kind
	for _, k := range w.in()[from:] {
		these = append(these, kinds[k])
	}
	return these
}

// fold returns n where the user asks for many members, else 1.
func (w *Model) fold(n int) int {
	if w.Many {
		return n
	}
	return 1
}

func (w *Model) anyTemplate() string {
	version := [...]string{"v1", "v2", "v3"}[w.rng.IntN(3)]
	if w.rng.IntN(4) > 0 {
		return version
	}
	return version + "-" + [...]string{noImage, crashing, deaf, refused, frail}[w.rng.IntN(5)]
}

// calm ends all faults, also those that last, and changes the intent to one that the cluster can
// reach.
func (w *Model) calm() {
	w.chaos = false
	w.note("calm")
	w.putLabelsBack()
	if w.Daemons == 0 {
		w.endEngines()
	}
	w.thaw()
	w.Intent.Paused, w.Intent.PausedUntil, w.Intent.Recover = false, 0, true
	w.takeBackSlots()
	w.takeBackMounts()
	w.takeBackAttributes()
	w.Failover = true // a person sees the members that are lost, and asks for failover
	for k := range kinds {
		w.Intent.Size[k] = max(w.Intent.Size[k], w.sets[k].spec.size) // less would be refused
		if flaw(w.Intent.Template[k]) != "" {
			w.Upgrade("v4", kinds[k])
		}
		for _, p := range w.pods[k] {
			if p != nil {
				p.heal(w.t)
			}
		}
	}
	if w.asks > w.Intent.Replicas[tiflash] { // else it could not be scaled in
		w.askTables(w.Intent.Replicas[tiflash])
	}
	w.endMistakes()
	w.help()
	w.endSilence()
}

// endMistakes takes back what others have done in PD, and what fails for a while.
func (w *Model) endMistakes() {
	w.broken, w.spoiled = broken{}, [components]int64{}
	for k, at := range w.renewed {
		w.renewed[k] = min(at, w.t)
	}
	w.goesAt = min(w.goesAt, w.t)
	w.pd.idle, w.pd.stall = 0, stall{}
	for _, s := range w.stores {
		w.cancelDelete(s)
	}
	w.reconcileOthers()
}

// endSilence lets PD and stores be heard again.
func (w *Model) endSilence() {
	for i := range w.pd.members {
		w.pd.members[i].unheard = 0
	}
	w.pd.silentUntil, w.pd.storeless, w.pd.elsewhere = 0, 0, 0
	for _, s := range w.stores {
		s.muffled, s.awayUntil, s.unlisted = 0, 0, 0
	}
}

// reconcileOthers leaves at most one scheduler that is not ours. With more, leaders may have
// nowhere to move, and no engine can change that.
func (w *Model) reconcileOthers() {
	left := 0
	for _, s := range w.stores {
		if e := w.evicts[s.id]; e != nil && !e.ours {
			if left++; left > 1 {
				delete(w.evicts, s.id)
			}
		}
	}
}
