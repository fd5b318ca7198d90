package sim

import (
	"math/rand/v2"
	"time"
)

// settleTime is how long the cluster may take to converge after the faults.
const settleTime = 3 * time.Hour

// Seed does one random run to its end. With trace it keeps a transcript.
func Seed(seed uint64, trace bool) *Model {
	rng := rand.New(rand.NewPCG(seed, 2))
	return lived(drawn(seed, rng), rng, trace)
}

// lived does the random run of a cluster to its end.
func lived(o Options, rng *rand.Rand, trace bool) *Model {
	w := begun(o)
	if trace {
		w.Trace()
	}
	w.chaos = true
	if rng.IntN(3) > 0 {
		w.chaos = false
		w.Settle(settleTime)
		w.chaos = true
	}
	w.note("faults begin")
	w.deploy()
	chaos := 300 + rng.IntN(1200)
	if o.Failover && o.Faults.LoseLong > 0 {
		chaos += 3600 // or no store would be Down for long enough
	}
	w.amongFaults(rng, w.t+int64(chaos))
	w.calm()
	w.Settle(settleTime)
	if w.Intent.Suspend != [components]bool{} {
		w.Suspend()
		w.Settle(settleTime)
	}
	w.wakeAll()
	if o.Daemons > 0 {
		w.close()
		w.endEngines()
	}
	if s := w.Soft; o.Faults.Delay == 0 && o.Faults.Rival == 0 && o.Faults.Sleep == 0 && s.WithLeaders+s.LeadersKilled+s.Needless > 0 {
		w.broke("careless", "%+v", s)
	}
	return w
}

// drawn are the options of a random run.
func drawn(seed uint64, rng *rand.Rand) Options {
	o := Options{
		Seed: seed, PD: pick(rng, 1, 3, 3, 5), TiKV: pick(rng, 3, 3, 4, 5), TiDB: pick(rng, 0, 1, 2, 3),
		Elsewhere: pick(rng, 0, 0, 0, 2), KeepStuck: rng.IntN(2) == 0,
		EvictTimeout: pick(rng, 0, 0, 30*time.Second, 10*time.Minute),
		MinReady:     pick(rng, 0, 0, 30*time.Second),
		Failover:     rng.IntN(2) == 0,
		Faults:       someFaults(rng),
		Ordered:      [components]bool{pd: rng.IntN(4) == 0, tikv: rng.IntN(4) == 0, tidb: rng.IntN(4) == 0},
		ScaleOut:     pick(rng, 1, 1, 2, 3), ScaleIn: pick(rng, 1, 1, 2, 3),
	}
	o.Reclaims = rng.IntN(3) == 0
	drawApart(&o)
	return o
}

// begun returns the model of a random run at its beginning.
func begun(o Options) *Model {
	w := New(o)
	w.offsetClocks()
	w.drawCanaries()
	return w
}

// drawApart draws what has a source of its own. So a new kind of run leaves the other runs of a seed as they are.
func drawApart(o *Options) {
	for _, draw := range []func(*Options){
		drawDaemons, drawPlacement, drawMany, drawEnded, drawCertificates, drawVersions, drawDDL, drawTemplates, drawUsers,
		drawOptional, drawEviction, drawStalls, drawSleep, drawElsewhere, drawUnlisted, drawSlots, drawBatches, drawMounts, drawAttributes, drawServerVolumes, drawRoom,
		drawSlotChanges,
	} {
		draw(o)
	}
	o.Faults.drawReports(o.Seed)
}

// amongFaults has commands or daemons drive until a time, with a person who does what gates ask for.
func (w *Model) amongFaults(rng *rand.Rand, until int64) {
	for w.t < until {
		if w.Daemons > 0 {
			w.runUntil(min(w.t+60, until))
			w.obey(w.planned)
			w.nameUnfit()
			continue
		}
		p, _ := w.Drive(time.Duration(until-w.t) * time.Second)
		w.obey(p)
		w.nameUnfit()
		w.Pass(5 + rng.IntN(60))
	}
}

// drawDaemons lets daemons drive one simulated cluster in five, beside commands in half of them.
// That is drawn separately, so that the other runs stay as they are.
func drawDaemons(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 3))
	if rng.IntN(5) > 0 {
		return
	}
	o.Daemons = pick(rng, 1, 2, 2, 3)
	o.Faults.Refuse, o.Faults.Outage = pick(rng, 0, .1), pick(rng, 0, 1./400)
	o.Faults.KillProcess, o.Faults.Freeze = pick(rng, 0, 1./200), pick(rng, 0, 1./100)
	o.Faults.Expire, o.Faults.Command = pick(rng, 0, 1./150), pick(rng, 0, 1./200)
}

// drawPlacement has PD ask for more than a number of copies, in two runs of five. PD asks for zones, which it prefers
// or insists on, or for copies on stores with a label. The first three stores are enough for that, because no run asks
// for fewer.
func drawPlacement(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 5))
	switch rng.IntN(10) {
	case 0:
		o.Zones = pick(rng, []int{0, 1, 2}, []int{0, 0, 1, 1, 2})
	case 1, 2:
		o.Zones, o.Isolated = pick(rng, []int{0, 1, 2}, []int{0, 1, 2, 2, 1}, []int{2, 1, 0, 3}), true
	case 3:
		o.Tiers, o.Copies = pick(rng, []int{0, 0, 1}, []int{0, 1, 0, 0}, []int{1, 0, 0, 1}), []int{2, 1}
	}
	o.Faults.DeleteClaim, o.Faults.Operator = pick(rng, 0, 0, 1./400), pick(rng, 0, 0, 0, 1./300)
}

// drawMany asks for more than ten stores and TiDB servers in one simulated cluster of
// twenty.
func drawMany(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 6))
	if o.Many = rng.IntN(20) == 0; o.Many {
		o.TiKV = pick(rng, o.TiKV, 9, 11)
	}
}

// drawOptional gives some simulated clusters components that no other one needs.
func drawOptional(o *Options) {
	drawFlash(o)
	drawProxies(o)
	drawCaptures(o)
	drawPumps(o)
	drawRulesOff(o)
}

// drawFlash gives one simulated cluster in four TiFlash, with tables that ask for replicas in it.
// That is drawn separately, so that the other runs stay as they are.
func drawFlash(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 8))
	if rng.IntN(4) > 0 {
		return
	}
	o.TiFlash, o.Learners = pick(rng, 1, 2, 3), pick(rng, 0, 1, 2, 2, 3)
	o.Ordered[tiflash] = rng.IntN(4) == 0
}

// drawProxies gives one simulated cluster in four TiProxy. That is drawn separately, so that the
// other runs stay as they are.
func drawProxies(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 9))
	if rng.IntN(4) > 0 {
		return
	}
	o.TiProxy, o.Drain = 1+rng.IntN(3), pick[int64](rng, 0, 30, 300)
	o.Ordered[tiproxy] = rng.IntN(4) == 0
}

// drawCaptures gives one simulated cluster in four TiCDC. That is drawn separately, so that the other runs
// stay as they are.
func drawCaptures(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 10))
	if rng.IntN(4) > 0 {
		return
	}
	o.TiCDC, o.Feeds, o.CannotDrain = 1+rng.IntN(3), rng.IntN(9), rng.IntN(6) == 0
	o.DrainTimeout = pick(rng, 30*time.Second, 2*time.Minute, 10*time.Minute)
	o.Ordered[ticdc], o.Eviction.StopFeeds = rng.IntN(4) == 0, rng.IntN(6) == 0
}

// drawPumps gives one simulated cluster in four Pump, separately as well.
func drawPumps(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 12))
	if rng.IntN(4) > 0 {
		return
	}
	o.Pump, o.Binlog, o.PumpAgain = 1+rng.IntN(3), rng.IntN(2) == 0, rng.IntN(2) == 0
	o.Ordered[pump] = rng.IntN(4) > 0
}

// someFaults leaves kinds of faults out, so that a run shows what the others do by
// themselves.
func someFaults(rng *rand.Rand) Faults {
	some := func(odds float64) float64 {
		if rng.IntN(2) == 0 {
			return 0
		}
		return odds
	}
	rare := func(odds float64) float64 { return some(some(odds)) }
	return Faults{
		Fail: some(0.08), LostAnswer: some(0.05), Delay: some(0.1), Stale: some(0.4), NoAnswer: some(0.05),
		Kill: some(0.01), Stop: some(0.01),
		Crash: some(1. / 100), Lose: some(1. / 400), LoseLong: some(1. / 800), PDSilent: some(1. / 200), Forget: some(1. / 60),
		EvictByHand: some(1. / 300), Elsewhere: some(1. / 200), Delete: some(1. / 150), Kubectl: rare(1. / 300), Intent: 1. / 150,
		Rival: some(1. / 300), Late: some(1. / 200),
	}
}

// drawReports lets what is reported differ from the truth.
func (f *Faults) drawReports(seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 4))
	f.Saved = true
	f.Resign, f.Ping = pick(rng, 0, 1./150), pick(rng, 0, 1./100)
	f.TakeOffline, f.Refusing, f.Standstill = pick(rng, 0, 1./300), pick(rng, 0, 0, 1./600), pick(rng, 0, 1./300)
	f.KubeletAway, f.Port, f.Hide = pick(rng, 0, 1./200), pick(rng, 0, 1./200), pick(rng, 0, 1./300)
	f.OldReport = pick(rng, 0, 1./250)
}

func pick[T any](rng *rand.Rand, options ...T) T { return options[rng.IntN(len(options))] }
