package sim

// Tick lets one second pass. It is for a tier that drives the model from outside.
func (w *Model) Tick() { w.tick() }

// BeginFaults lets the faults of the Options happen from now on.
func (w *Model) BeginFaults() { w.chaos = true }

// EndFaults ends all faults, also those that last. What only a person can repair stays broken.
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

// OffsetClocks sets the clocks of hosts wrong, as in random runs of one seed in four.
func (w *Model) OffsetClocks() { w.offsetClocks() }
