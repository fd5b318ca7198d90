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
	floors         floors
	// taken is what was measured with clusters like those of tidb-operator.
	taken       side
	takenFloors floors
	asked       []times // processor times, by ask
}

// unwritten returns an error if a write failed, or is lost, that a client made while the plugin drove.
func (r results) unwritten() error {
	failed := 0
	var lost error
	for _, c := range slices.Concat(r.plugin.clients, r.taken.clients) {
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
	if o.load > 0 {
		fmt.Fprintf(out, "Measured beside %d processes that each use up a processor, the floors as well.\n\n", o.load)
	}
	markdown(out, r.operations(o))
	r.printProcessor(out, o.runs)
	if o.driver != "" {
		fmt.Fprintf(out, "\nThe second driver: %s\n", o.driver)
	}
	r.floors.print(out)
	r.takenFloors.printRestarts(out, ", of the cluster that was taken over")
	const round = "drove, from the first scaling to the end of the upgrade"
	printClients(out, "the plugin "+round, r.plugin.clients)
	printClients(out, "the plugin upgraded the cluster that was taken over", r.taken.clients)
	printClients(out, "the second driver "+round, r.driver.clients)
	for _, row := range r.rows(o.runs) {
		if len(row.runs) > 0 {
			printProfile(out, row.name, medianOf(row.runs, wall))
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

// row is an operation with what was measured of it.
type row struct {
	operation
	runs   []measured
	driver string // the cell of the second driver
	floors floors
}

// rows are those of all operations that were to be measured.
func (r results) rows(runs int) (all []row) {
	for i, op := range operations {
		driver := "no value"
		if r.driver.runs != nil {
			driver = walls(r.driver.runs[i]).of(runs)
		}
		all = append(all, row{op, r.plugin.runs[i], driver, r.floors})
	}
	for i, op := range takenOver {
		if r.taken.runs != nil {
			all = append(all, row{op, r.taken.runs[i], "not measured", r.takenFloors})
		}
	}
	return all
}

// operations is the table of operations.
func (r results) operations(o options) [][]string {
	header := []string{"operation", "min", "median", "max", "aim", "floor", "median / floor", "waiting for pods", "waiting for PD and TiKV", "our own"}
	if o.driver != "" {
		header = append(header, "second driver: min / median / max")
	}
	table := [][]string{header}
	for _, row := range r.rows(o.runs) {
		cells := append([]string{row.name}, walls(row.runs).cells()...)
		cells = append(cells, fmt.Sprintf("%.0f s", row.aim.Seconds()))
		cells = append(cells, row.floorCells()...)
		cells = append(cells, divided(row.runs)...)
		if o.driver != "" {
			cells = append(cells, row.driver)
		}
		table = append(table, cells)
	}
	return table
}

// floorCells are the cells of an operation's floor.
func (r row) floorCells() []string {
	if r.floor == nil || r.floor(r.floors) == 0 {
		return []string{"", ""}
	}
	floor := r.floor(r.floors)
	return []string{seconds(floor), ratio(walls(r.runs).median(), floor)}
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

func (f floors) print(out io.Writer) {
	f.printRestarts(out, "")
	if len(f.removals) > 0 {
		fmt.Fprintf(out, "\nBare removals of a store, until PD has made it a tombstone and its pod is gone, min / median / max: %s\n",
			f.removals.of(len(f.removals)))
	}
	if len(f.moves) == 0 {
		return
	}
	stalls := longest(slices.Concat(f.moves...))
	fmt.Fprintf(out, "\nBare moves of PD's leader: the longest write of each, min / median / max: %s\n", stalls.of(len(stalls)))
	for n, moves := range f.moves {
		for _, m := range moves {
			fmt.Fprintf(out, "run %d: %s\n", n+1, m)
		}
	}
}

// printRestarts prints the floor of an upgrade. What is said of whose pods begins with a comma.
func (f floors) printRestarts(out io.Writer, whose string) {
	if len(f.restarts) == 0 {
		return
	}
	fmt.Fprintf(out, "\nBare restarts%s: each pod deleted alone, until the next one serves; sums for each run.\n\n", whose)
	rows := [][]string{{"component", "pods", "min", "median", "max"}}
	for _, c := range slices.Concat(components, []component{{title: "all"}}) {
		row := []string{c.title, fmt.Sprint(len(f.restarts[0].of(c.name)))}
		rows = append(rows, append(row, sums(f.restarts, c.name).cells()...))
	}
	markdown(out, rows)
}

func printClients(out io.Writer, meanwhile string, clients []client) {
	if len(clients) == 0 {
		return
	}
	fmt.Fprintf(out, "\nA client that wrote a row every %d ms while %s:\n", interval.Milliseconds(), meanwhile)
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
