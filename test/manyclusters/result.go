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
	size
	clusters, daemons, rate            int
	creation                           time.Duration
	idleFrom, idleTo, busyFrom, busyTo usage
	sent, accepted                     []time.Duration // in order: from then on until a change was served
	silent                             int             // changes that were not
}

// quantiles are the times within which half of all came, nearly all and all.
func quantiles(took []time.Duration) string {
	if len(took) == 0 {
		return "none"
	}
	at := func(q float64) time.Duration {
		return took[min(int(q*float64(len(took))), len(took)-1)].Round(time.Millisecond)
	}
	return fmt.Sprintf("%s / %s / %s", at(.5), at(.99), at(1))
}

func (r result) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	line := func(what, format string, args ...any) {
		fmt.Fprintf(w, "%s\t"+format+"\n", append([]any{what}, args...)...)
	}
	line("clusters", "%d of %d PD, %d TiKV, %d TiDB", r.clusters, r.pd, r.tikv, r.tidb)
	line("daemons", "%d; numbers are of all of them, memory of the largest", r.daemons)
	line("created and settled within", "%s", r.creation.Round(time.Second))
	idle := r.idleTo.at.Sub(r.idleFrom.at)
	line("idle: measured for", "%s", idle.Round(time.Second))
	line("idle: writes to the API server", "%.0f", r.idleTo.writes-r.idleFrom.writes)
	line("idle: reads, not counting open watches", "%.0f", r.idleTo.reads-r.idleFrom.reads)
	line("idle: PD calls per second", "%.1f", (r.idleTo.calls-r.idleFrom.calls)/idle.Seconds())
	line("idle: CPU", "%.1f %% of a core", 100*(r.idleTo.cpu-r.idleFrom.cpu).Seconds()/idle.Seconds())
	line("idle: resident memory, without the program's file", "%d MB, %d MB", r.idleTo.resident>>20, r.idleTo.own>>20)
	busy := r.busyTo.at.Sub(r.busyFrom.at)
	changes := float64(len(r.sent) + r.silent)
	line("changes", "%.0f in %s, %d per second", changes, busy.Round(time.Second), r.rate)
	line("reaction to one that was accepted, p50 / p99 / longest", "%s", quantiles(r.accepted))
	line("from its request on, p50 / p99 / longest", "%s", quantiles(r.sent))
	line("changes without a reaction", "%d", r.silent)
	line("busy: API reads and writes per change", "%.1f, %.1f", (r.busyTo.reads-r.busyFrom.reads)/changes, (r.busyTo.writes-r.busyFrom.writes)/changes)
	line("busy: turns per change", "%.1f", (r.busyTo.turns-r.busyFrom.turns)/changes)
	line("busy: CPU", "%.0f %% of a core", 100*(r.busyTo.cpu-r.busyFrom.cpu).Seconds()/busy.Seconds())
	line("busy: CPU of everybody here", "%.0f %% of %d cores", 100*(r.busyTo.machine-r.busyFrom.machine).Seconds()/busy.Seconds()/float64(runtime.NumCPU()), runtime.NumCPU())
	line("memory at the end / at most", "%d / %d MB", r.busyTo.resident>>20, r.busyTo.peak>>20)
}
