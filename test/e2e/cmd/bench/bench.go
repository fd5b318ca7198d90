package main

import (
	"context"
	"fmt"
	"io"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/workload"
)

// bench measures with the plugin and, in turn, with a second driver, so that what the machine does
// meanwhile is the same for both.
type bench struct {
	options
	root         string
	progress     io.Writer
	ours, theirs target
	results      results
}

func (b *bench) measure(ctx context.Context) error {
	targets := []target{b.ours}
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
	client := b.ours.pdClient()
	defer client.Close()
	b.say("PD's leader is moved, without the plugin …")
	moves, err := b.ours.moves(ctx, client)
	if err != nil {
		return err
	}
	b.results.moves = append(b.results.moves, moves)
	b.say("each pod is restarted, without the plugin …")
	restarts, err := b.ours.restarts(ctx, client)
	if err != nil {
		return err
	}
	b.results.restarts = append(b.results.restarts, restarts)
	return b.ours.clean(ctx)
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
	var events []event.Event
	do := func(i int) error {
		b.say("%s …", operations[i].name)
		m, err := drive(ctx, operations[i])
		if err != nil {
			return fmt.Errorf("%s: %w", operations[i].name, err)
		}
		s.runs[i] = append(s.runs[i], m)
		events = append(events, m.events...)
		return nil
	}
	if err := do(0); err != nil {
		return err
	}
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
	for i := 1; i < len(operations) && err == nil; i++ {
		if err = t.rest(ctx, pds); err == nil {
			err = do(i)
		}
	}
	c := client{run: run, account: writer.Stop(), events: events}
	if err == nil {
		c.lost = c.account.Verify(ctx, db, roundTable)
	}
	s.clients = append(s.clients, c)
	return err
}
