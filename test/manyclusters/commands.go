package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

const (
	// rounds is how often a command that ends by itself is measured.
	rounds = 5
	// settling is how long a run that waits is left alone before its memory and its requests count, and
	// waiting for how long they do.
	settling, waiting = 30 * time.Second, 2 * time.Minute
)

// measureCommands measures commands of the plugin, once the daemon has made the clusters and has ended:
// those that read, and a run that waits for a pod that does not come, since stop has ended what makes pods.
func (h *bench) measureCommands(ctx context.Context, stop func()) error {
	var r result
	if err := h.create(ctx, &r); err != nil {
		return err
	}
	h.stopDaemons()
	h.daemons = nil
	stop()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintf(w, "clusters\t%d of %d PD, %d TiKV, %d TiDB\n", h.clusters, h.pd, h.tikv, h.tidb)
	for _, args := range [][]string{{"list", "-A"}, {"status", h.name(0), "--dial=direct"}} {
		took, err := h.timed(ctx, args)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%v\t%s\n", args, took.Round(time.Millisecond))
	}
	patch := fmt.Appendf(nil, `{"spec":{"tidb":{"replicas":%d}}}`, h.tidb+1)
	if _, err := h.dyn.Resource(intent.Resource).Namespace(h.namespace).Patch(ctx, h.name(0), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	for _, dial := range []string{"direct", "port-forward"} {
		u, requests, err := h.wait(ctx, dial)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "a run that waits, --dial=%s\t%d MB, %d MB at most, %d MB without the program's file; %.1f requests a minute\n",
			dial, u.resident>>20, u.peak>>20, u.own>>20, float64(requests)/waiting.Minutes())
	}
	return nil
}

// command is the plugin with arguments.
func (h *bench) command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, h.program, append(args, "--kubeconfig", h.kubeconfig, "-n", h.namespace)...)
}

// timed returns the median of the times that a command takes.
func (h *bench) timed(ctx context.Context, args []string) (time.Duration, error) {
	var all []time.Duration
	for range rounds {
		cmd := h.command(ctx, args...)
		begun := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("%v: %w: %s", args, err, out)
		}
		all = append(all, time.Since(begun))
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}

// wait runs a command that waits, and returns its memory and its requests of a time in which nothing moves.
func (h *bench) wait(ctx context.Context, dial string) (u usage, requests int64, err error) {
	cmd := h.command(ctx, "sync", h.name(0), "--dial="+dial)
	if err := cmd.Start(); err != nil {
		return u, 0, err
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}()
	pause := func(d time.Duration) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(d):
			return nil
		}
	}
	if err := pause(settling); err != nil {
		return u, 0, err
	}
	before := h.api.Requests()
	if err := pause(waiting); err != nil {
		return u, 0, err
	}
	requests = h.api.Requests() - before
	err = u.process(cmd.Process.Pid)
	return u, requests, err
}
