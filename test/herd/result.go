package main

import (
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"
	"time"
)

// result is what was measured.
type result struct {
	clusters, rate                     int
	creation                           time.Duration
	idleFrom, idleTo, busyFrom, busyTo usage
	took                               []time.Duration // in order
	silent                             int             // changes without a reaction
}

// quantile is the time within which so much of all reactions came.
func (r result) quantile(q float64) time.Duration {
	if len(r.took) == 0 {
		return 0
	}
	return r.took[min(int(q*float64(len(r.took))), len(r.took)-1)].Round(time.Millisecond)
}

func (r result) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	line := func(what, format string, args ...any) {
		fmt.Fprintf(w, "%s\t"+format+"\n", append([]any{what}, args...)...)
	}
	line("clusters", "%d of 3 PD, 3 TiKV, 2 TiDB", r.clusters)
	line("created and settled within", "%s", r.creation.Round(time.Second))
	idle := r.idleTo.at.Sub(r.idleFrom.at)
	line("idle: measured for", "%s", idle.Round(time.Second))
	line("idle: writes to the API server", "%.0f", r.idleTo.writes-r.idleFrom.writes)
	line("idle: reads, not counting open watches", "%.0f", r.idleTo.reads-r.idleFrom.reads)
	line("idle: PD calls per second", "%.1f", (r.idleTo.calls-r.idleFrom.calls)/idle.Seconds())
	line("idle: CPU", "%.1f %% of a core", 100*(r.idleTo.cpu-r.idleFrom.cpu).Seconds()/idle.Seconds())
	line("idle: resident memory", "%d MB", r.idleTo.resident>>20)
	busy := r.busyTo.at.Sub(r.busyFrom.at)
	changes := float64(len(r.took) + r.silent)
	line("changes", "%.0f in %s, %d per second", changes, busy.Round(time.Second), r.rate)
	line("reaction p50 / p99 / longest", "%s / %s / %s", r.quantile(.5), r.quantile(.99), r.quantile(1))
	line("changes without a reaction", "%d", r.silent)
	line("busy: API reads and writes per change", "%.1f, %.1f", (r.busyTo.reads-r.busyFrom.reads)/changes, (r.busyTo.writes-r.busyFrom.writes)/changes)
	line("busy: turns per change", "%.1f", (r.busyTo.turns-r.busyFrom.turns)/changes)
	line("busy: CPU", "%.0f %% of a core", 100*(r.busyTo.cpu-r.busyFrom.cpu).Seconds()/busy.Seconds())
	line("busy: CPU of everybody here", "%.0f %% of %d cores", 100*(r.busyTo.machine-r.busyFrom.machine).Seconds()/busy.Seconds()/float64(runtime.NumCPU()), runtime.NumCPU())
	line("memory at the end / at most", "%d / %d MB", r.busyTo.resident>>20, r.busyTo.peak>>20)
}
