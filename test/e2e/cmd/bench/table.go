package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// results are what was measured.
type results struct {
	plugin, driver side
	restarts       []restarts   // by run
	moves          [][]bareMove // by run
}

// unwritten returns an error if a write failed, or is lost, that a client made while the plugin drove.
func (r results) unwritten() error {
	failed := 0
	var lost error
	for _, c := range r.plugin.clients {
		failed += len(c.account.Failed)
		lost = errors.Join(lost, c.lost)
	}
	if failed > 0 {
		return errors.Join(fmt.Errorf("%d writes failed", failed), lost)
	}
	return lost
}

// print writes what was measured; of what was not, nothing.
func (r results) print(out io.Writer, o options) {
	if r.plugin.runs == nil {
		return
	}
	fmt.Fprintf(out, "Walls and floors are of %d runs; what was waited for is of the run with the median wall.\n\n", len(r.plugin.runs[0]))
	markdown(out, r.operations(o))
	if o.driver != "" {
		fmt.Fprintf(out, "\nThe second driver: %s\n", o.driver)
	}
	if len(r.restarts) > 0 {
		fmt.Fprintf(out, "\nBare restarts: each pod deleted alone, until the next one serves; sums for each run.\n\n")
		markdown(out, r.bareRestarts())
	}
	r.printMoves(out)
	printClients(out, "the plugin", r.plugin.clients)
	printClients(out, "the second driver", r.driver.clients)
	for i, op := range operations {
		if len(r.plugin.runs[i]) > 0 {
			printProfile(out, op.name, medianOf(r.plugin.runs[i], wall))
		}
	}
}

func wall(m measured) time.Duration { return m.wall }

func walls(runs []measured) (all times) {
	for _, m := range runs {
		all = append(all, m.wall)
	}
	return all
}

// operations is the table of operations.
func (r results) operations(o options) [][]string {
	header := []string{"operation", "min", "median", "max", "aim", "floor", "median / floor", "waiting for pods", "waiting for PD and TiKV", "our own"}
	if o.driver != "" {
		header = append(header, "second driver: min / median / max")
	}
	rows := [][]string{header}
	for i, op := range operations {
		row := append([]string{op.name}, walls(r.plugin.runs[i]).cells()...)
		row = append(row, fmt.Sprintf("%.0f s", op.aim.Seconds()))
		row = append(row, r.floor(i)...)
		row = append(row, divided(r.plugin.runs[i])...)
		if o.driver != "" {
			text := "no value"
			if r.driver.runs != nil {
				text = walls(r.driver.runs[i]).of(o.runs)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return rows
}

// floor are the cells of an operation's floor.
func (r results) floor(i int) []string {
	if operations[i].floor == nil || len(r.restarts) == 0 {
		return []string{"", ""}
	}
	floor := operations[i].floor(r.restarts)
	return []string{seconds(floor), ratio(walls(r.plugin.runs[i]).median(), floor)}
}

// divided are the cells of what the median run waited for.
func divided(runs []measured) []string {
	if len(runs) == 0 {
		return []string{"", "", ""}
	}
	m := medianOf(runs, wall)
	d := divide(m)
	return []string{seconds(d.pods), seconds(d.database), fmt.Sprintf("%s (%.0f %%)", seconds(d.own), 100*d.own.Seconds()/m.wall.Seconds())}
}

// bareRestarts is the table of the floor of an upgrade.
func (r results) bareRestarts() [][]string {
	rows := [][]string{{"component", "pods", "min", "median", "max"}}
	for _, c := range slices.Concat(components, []component{{title: "all"}}) {
		row := []string{c.title, fmt.Sprint(len(r.restarts[0].of(c.name)))}
		rows = append(rows, append(row, sums(r.restarts, c.name).cells()...))
	}
	return rows
}

func (r results) printMoves(out io.Writer) {
	if len(r.moves) == 0 {
		return
	}
	stalls := longest(slices.Concat(r.moves...))
	fmt.Fprintf(out, "\nBare moves of PD's leader: the longest write of each, min / median / max: %s\n", stalls.of(len(stalls)))
	for n, moves := range r.moves {
		for _, m := range moves {
			fmt.Fprintf(out, "run %d: %s\n", n+1, m)
		}
	}
}

func printClients(out io.Writer, driver string, clients []client) {
	if len(clients) == 0 {
		return
	}
	fmt.Fprintf(out, "\nA client that wrote a row every %d ms while %s drove, from the first scaling to the end of the upgrade:\n", interval.Milliseconds(), driver)
	for _, c := range clients {
		fmt.Fprintf(out, "run %d: %s\n", c.run, c.account)
		for _, err := range c.account.Failed {
			fmt.Fprintf(out, "  %v\n", err)
		}
		if c.lost != nil {
			fmt.Fprintf(out, "  %v\n", c.lost)
		}
		for _, s := range c.account.Stalls {
			fmt.Fprintf(out, "  %s\n", explained(c.events, s))
		}
	}
}

func printProfile(out io.Writer, name string, m measured) {
	p := profileOf(m)
	fmt.Fprintf(out, "\n%s: where the %s of the median run went\n", name, seconds(m.wall))
	groups := []struct {
		title string
		parts []part
	}{
		{"gates", p.gates},
		{"steps of more than " + exact(noted), p.steps},
		{"neither a closed gate nor a step, " + exact(p.nothing) + " in all; the long ones", p.idle},
	}
	for _, group := range groups {
		if len(group.parts) == 0 {
			continue
		}
		fmt.Fprintf(out, "  %s:\n", group.title)
		for _, part := range group.parts {
			fmt.Fprintf(out, "    %7s  %s\n", exact(part.took), part.what)
		}
	}
}

// markdown writes a table whose columns are aligned. Its first row is the header.
func markdown(out io.Writer, rows [][]string) {
	w := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	line := func(cells []string) { fmt.Fprintf(w, "| %s\t|\n", strings.Join(cells, "\t| ")) }
	line(rows[0])
	line(slices.Repeat([]string{"---"}, len(rows[0])))
	for _, row := range rows[1:] {
		line(row)
	}
	w.Flush()
}
