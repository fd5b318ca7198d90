package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// asked is a command that changes nothing, of which the processor time is measured.
type asked struct {
	name string
	args []string
	aim  time.Duration
}

// asks are measured in a cluster that has converged.
var asks = []asked{
	{name: "sync with nothing to do", args: []string{"sync", cluster, "--yes"}, aim: 300 * time.Millisecond},
	{name: "status", args: []string{"status", cluster}, aim: 200 * time.Millisecond},
}

// asksEach is how often each of them is measured in a run: they take less than a second.
const asksEach = 5

// ask measures the processor times of asks, by ask.
func (t target) ask(ctx context.Context, into []times) ([]times, error) {
	if into == nil {
		into = make([]times, len(asks))
	}
	for i, a := range asks {
		for range asksEach {
			r := t.plugin.Run(ctx, nil, a.args...)
			if r.Code != 0 {
				return into, fmt.Errorf("%s: exit code %d: %s", a.name, r.Code, r.Stderr)
			}
			into[i] = append(into[i], r.Processor)
		}
	}
	return into, nil
}

// printProcessor prints the processor times of the plugin's processes.
func (r results) printProcessor(out io.Writer, runs int) {
	table := [][]string{{"cpu", "min", "median", "max", "aim"}}
	add := func(name string, all times, aim time.Duration) {
		if len(all) == 0 {
			return
		}
		cells := append([]string{name}, hundredths(all)...)
		if aim > 0 {
			cells = append(cells, fmt.Sprintf("%.1f s", aim.Seconds()))
		} else {
			cells = append(cells, "")
		}
		table = append(table, cells)
	}
	for _, row := range r.rows(runs) {
		var all times
		for _, m := range row.runs {
			all = append(all, m.processor)
		}
		add(row.name, all, row.processor)
	}
	for i, all := range r.asked {
		add(asks[i].name, all, asks[i].aim)
	}
	fmt.Fprint(out, "\nProcessor time of the plugin's process, of all its threads, in user and system mode.\n\n")
	markdown(out, table)
}

// hundredths are the cells of times of less than some seconds.
func hundredths(t times) []string {
	var cells []string
	for _, d := range []time.Duration{slices.Min(t), t.median(), slices.Max(t)} {
		cells = append(cells, fmt.Sprintf("%.2f s", d.Seconds()))
	}
	return cells
}
