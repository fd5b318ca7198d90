package main

import (
	"context"
	"fmt"
	"io"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/workload"
)

// bench measures with the plugin and, in turn, with a second driver, so that what the machine does
// meanwhile is the same for both.
type bench struct {
	options
	root         string
	progress     io.Writer
	ours, theirs target
	taken        target // with a cluster like that of tidb-operator
	results      results
}

func (b *bench) measure(ctx context.Context) error {
	targets := []target{b.ours, b.taken}
	if b.driver != "" {
		targets = append(targets, b.theirs)
	}
	for _, t := range targets {
		if err := t.prepare(ctx); err != nil {
			return err
		}
	}
	for n := range b.runs {
		b.say("run %d of %d", n+1, b.runs)
		if err := b.measurePlugin(ctx, n+1); err != nil {
			return err
		}
		if err := b.measureTakenOver(ctx, n+1); err != nil {
			return err
		}
		if b.driver == "" {
			continue
		}
		if err := b.measureDriver(ctx, n+1); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.progress, format+"\n", args...) }

// measurePlugin measures all operations once, and the floors in the same cluster after them: a move of
// PD's leader just before an operation would change what that takes.
func (b *bench) measurePlugin(ctx context.Context, run int) error {
	if err := b.round(ctx, run, b.ours, byPlugin(b.ours.plugin), &b.results.plugin); err != nil {
		return err
	}
	b.say("what changes nothing is measured …")
	var err error
	if b.results.asked, err = b.ours.ask(ctx, b.results.asked); err != nil {
		return err
	}
	client := b.ours.pdClient()
	defer client.Close()
	b.say("PD's leader is moved, without the plugin …")
	moves, err := b.ours.moves(ctx, client)
	if err != nil {
		return err
	}
	b.results.floors.moves = append(b.results.floors.moves, moves)
	b.say("a store is added and removed, without the plugin …")
	removals, err := b.ours.removals(ctx, client)
	if err != nil {
		return err
	}
	b.results.floors.removals = append(b.results.floors.removals, removals...)
	if err := b.restartAll(ctx, b.ours, client, &b.results.floors); err != nil {
		return err
	}
	return b.ours.clean(ctx)
}

// restartAll measures the floor of an upgrade.
func (b *bench) restartAll(ctx context.Context, t target, client pd.Client, f *floors) error {
	b.say("each pod is restarted, without the plugin …")
	restarts, err := t.restarts(ctx, client)
	if err != nil {
		return err
	}
	f.restarts = append(f.restarts, restarts)
	return nil
}

// measureTakenOver measures the upgrade of a cluster that is like one of tidb-operator.
func (b *bench) measureTakenOver(ctx context.Context, run int) error {
	b.say("a cluster like one of tidb-operator is made …")
	if err := b.taken.likeOperators(ctx); err != nil {
		return err
	}
	if b.results.taken.runs == nil {
		b.results.taken.runs = make([][]measured, len(takenOver))
	}
	if err := b.underWrites(ctx, run, b.taken, byPlugin(b.taken.plugin), takenOver, b.results.taken.runs, &b.results.taken); err != nil {
		return err
	}
	client := b.taken.pdClient()
	defer client.Close()
	if err := b.restartAll(ctx, b.taken, client, &b.results.takenFloors); err != nil {
		return err
	}
	return b.taken.clean(ctx)
}

// measureDriver measures the second driver. One that fails ends only its own run: what the next operation
// takes in a cluster that is not as it should be says nothing.
func (b *bench) measureDriver(ctx context.Context, run int) error {
	drive := byCommand(b.driver, b.root, b.ours.plugin.Kubeconfig, b.theirs.plugin.Namespace)
	if err := b.round(ctx, run, b.theirs, drive, &b.results.driver); err != nil {
		if ctx.Err() != nil {
			return err
		}
		b.say("the second driver failed, and the rest of its run is left out: %v", err)
	}
	return b.theirs.clean(ctx)
}

// side is what was measured with one driver.
type side struct {
	runs    [][]measured // by operation
	clients []client
}

// round carries out all operations once. A client writes from the end of the first one on.
func (b *bench) round(ctx context.Context, run int, t target, drive drive, s *side) error {
	if s.runs == nil {
		s.runs = make([][]measured, len(operations))
	}
	if _, err := b.do(ctx, drive, operations[0], &s.runs[0]); err != nil {
		return err
	}
	return b.underWrites(ctx, run, t, drive, operations[1:], s.runs[1:], s)
}

// do carries out one operation, adds what was measured to runs, and returns its events.
func (b *bench) do(ctx context.Context, drive drive, op operation, runs *[]measured) ([]event.Event, error) {
	b.say("%s …", op.name)
	m, err := drive(ctx, op)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op.name, err)
	}
	*runs = append(*runs, m)
	return m.events, nil
}

// underWrites carries out operations while a client writes.
func (b *bench) underWrites(ctx context.Context, run int, t target, drive drive, ops []operation, runs [][]measured, s *side) error {
	db, err := t.sql.Open(t.plugin.Namespace)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := workload.Table(ctx, db, movesTable); err != nil {
		return err
	}
	writer, err := workload.Start(ctx, db, roundTable, interval)
	if err != nil {
		return err
	}
	pds := t.pdClient()
	defer pds.Close()
	c := client{run: run}
	for i := 0; i < len(ops) && err == nil; i++ {
		if err = t.rest(ctx, pds); err == nil {
			var events []event.Event
			events, err = b.do(ctx, drive, ops[i], &runs[i])
			c.events = append(c.events, events...)
		}
	}
	c.account = writer.Stop()
	if err == nil {
		c.lost = c.account.Verify(ctx, db, roundTable)
	}
	s.clients = append(s.clients, c)
	return err
}
