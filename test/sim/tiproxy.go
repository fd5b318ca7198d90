package sim

// passesOn reports whether a TiProxy takes connections of clients. It finds the TiDB servers in PD.
// While PD does not serve, it continues with the servers that it has found.
func (w *Model) passesOn(i int) bool {
	p := w.pods[tiproxy][i]
	return w.works(p) && w.t >= p.started+2
}

// drain returns how long the process in a pod of a component keeps the connections of clients
// before it ends.
func (w *Model) drain(k kind) int64 {
	return map[kind]int64{tiproxy: w.Drain}[k]
}
