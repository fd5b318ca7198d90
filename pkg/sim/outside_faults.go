package sim

import "math/rand/v2"

// Tick lets one second pass. It is for a tier that drives the model from outside.
func (w *Model) Tick() { w.tick() }

// BeginFaults lets the faults of the Options happen from now on.
func (w *Model) BeginFaults() { w.chaos = true }

// EndFaults ends all faults, also those that last. What only a person can repair stays broken; see Help.
func (w *Model) EndFaults() {
	w.chaos, w.away = false, 0
	w.note("calm")
	for k := range kinds {
		for _, p := range w.pods[k] {
			if p != nil {
				p.heal(w.t)
			}
		}
	}
	w.endMistakes()
	w.endSilence()
}

// Help does what a person must do about changes that others made in Kubernetes or PD, such as to give a lost host up.
func (w *Model) Help() { w.help() }

// OutsideOptions returns the options of the random run of a seed, without the model's own commands, daemons, users and webhooks.
func OutsideOptions(seed uint64) Options {
	o := drawn(seed, rand.New(rand.NewPCG(seed, 2)))
	o.Daemons, o.Versions, o.Pins = 0, false, false
	o.Faults = o.Faults.Outside()
	return o
}

// Outside returns the faults that happen outside the engine, in Kubernetes, on hosts and in the database. Left out are those of
// the model's own engines and of the model's own users, whose TidbCluster it is, and those of certificates and passwords.
func (f Faults) Outside() Faults {
	f.Fail, f.LostAnswer, f.Delay, f.Sleep, f.Stale, f.NoAnswer, f.Kill, f.Stop = 0, 0, 0, 0, 0, 0, 0, 0
	f.Intent, f.Release, f.Named, f.Rival, f.Refusing, f.Operator = 0, 0, 0, 0, 0, 0
	f.Certificate, f.Expiry, f.Password = 0, 0, 0
	f.Refuse, f.Outage, f.KillProcess, f.Freeze, f.Expire, f.Command = 0, 0, 0, 0, 0, 0
	return f
}

// OffsetClocks sets the clocks of hosts wrong, as in random runs of one seed in four.
func (w *Model) OffsetClocks() { w.offsetClocks() }
