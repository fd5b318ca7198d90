package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/workload"
)

var update = flag.Bool("update", false, "write the golden files")

// example is what three runs may have measured, with a second driver that failed in two of them.
func example() results {
	var r results
	for i := range operations {
		base := time.Duration(10*(i+1)) * s
		r.plugin.runs = append(r.plugin.runs, []measured{{wall: base + 2*s}, {wall: base}, {wall: base + s}})
		r.driver.runs = append(r.driver.runs, nil)
	}
	r.plugin.runs[3] = []measured{{wall: 20 * s}, {wall: 14 * s, events: upgrade(), processor: 2900 * time.Millisecond}, {wall: 12 * s}}
	r.driver.runs[0] = []measured{{wall: 50 * s}, {wall: 60 * s}, {wall: 40 * s}}
	r.driver.runs[1] = []measured{{wall: 28 * s}}
	r.floors.restarts = []restarts{
		{{"pd", 3 * s}, {"pd", 3 * s}, {"tikv", 2 * s}, {"tidb", 4 * s}},
		{{"pd", 2 * s}, {"pd", 1 * s}, {"tikv", 2 * s}, {"tidb", 4 * s}},
		{{"pd", 2 * s}, {"pd", 2 * s}, {"tikv", 2 * s}, {"tidb", 2 * s}},
	}
	r.floors.moves = [][]bareMove{
		{{from: "pd-0", to: "pd-1", took: s, account: workload.Account{Longest: 1500 * time.Millisecond}}},
		{{from: "pd-1", to: "pd-2", took: 2 * s, account: workload.Account{Longest: 900 * time.Millisecond, Failed: []error{errors.New("x")}}}},
	}
	r.asked = []times{{300 * time.Millisecond, 280 * time.Millisecond}, {90 * time.Millisecond}}
	r.floors.removals = times{3 * s, 11 * s, 6 * s}
	r.taken.runs = [][]measured{{{wall: 90 * s}, {wall: 95 * s}}}
	r.takenFloors.restarts = []restarts{{{"pd", 6 * s}, {"tikv", 2 * s}, {"tidb", 72 * s}}}
	stall := workload.Stall{At: at(0.1), Took: 1400 * time.Millisecond}
	good := workload.Account{Written: 640, Longest: 300 * time.Millisecond}
	r.plugin.clients = []client{
		{run: 1, account: workload.Account{Written: 630, Retried: 1, Longest: stall.Took, Stalls: []workload.Stall{stall}}, events: upgrade()},
		{run: 2, account: good},
		{run: 3, account: good},
	}
	r.driver.clients = []client{{run: 2, account: workload.Account{Written: 3, Failed: []error{errors.New("row 4: no")}}, lost: errors.New("a row is lost")}}
	return r
}

func TestPrint(t *testing.T) {
	var out bytes.Buffer
	example().print(&out, options{runs: 3, driver: "tool {operation}", load: 2})
	const file = "testdata/results.txt"
	if *update {
		if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil || out.String() != string(golden) {
		t.Errorf("%v; go test -update writes it; got\n%s", err, out.String())
	}
}

// A run that ended early has what was measured until then, and no column of a driver that there is not.
func TestPrintOfLittle(t *testing.T) {
	var out bytes.Buffer
	results{}.print(&out, options{runs: 3})
	if out.Len() > 0 {
		t.Errorf("nothing was measured: %s", out.String())
	}
	r := results{plugin: side{runs: make([][]measured, len(operations))}}
	r.plugin.runs[0] = []measured{{wall: 30 * s}}
	r.print(&out, options{runs: 3})
	for _, no := range []string{"second driver", "Bare", "client", "NaN"} {
		if strings.Contains(out.String(), no) {
			t.Errorf("it has %q:\n%s", no, out.String())
		}
	}
	if !strings.Contains(out.String(), "30.0 s") {
		t.Errorf("it has no 30 s:\n%s", out.String())
	}
}

// A second driver of which no operation has ended has no value anywhere.
func TestNoValue(t *testing.T) {
	r := example()
	r.driver = side{}
	for _, row := range r.operations(options{runs: 3, driver: "false"})[1 : len(operations)+1] {
		if last := row[len(row)-1]; last != "no value" {
			t.Errorf("%q, want no value", last)
		}
	}
}

func TestUnwritten(t *testing.T) {
	r := example()
	if err := r.unwritten(); err != nil {
		t.Errorf("%v; what failed with the second driver is not ours", err)
	}
	r.plugin.clients[1].account.Failed = []error{errors.New("x"), errors.New("y")}
	if err := r.unwritten(); err == nil || err.Error() != "2 writes failed" {
		t.Errorf("%v, want 2 that failed", err)
	}
	r = example()
	r.plugin.clients = slices.Concat(r.plugin.clients, []client{{lost: errors.New("1 row is gone")}})
	if err := r.unwritten(); err == nil || err.Error() != "1 row is gone" {
		t.Errorf("%v, want the row that is gone", err)
	}
}
