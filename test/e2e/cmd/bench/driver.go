package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/plugin"
)

// drive carries out one operation to its end.
type drive func(context.Context, operation) (measured, error)

// byPlugin drives with the built plugin.
func byPlugin(p plugin.Plugin) drive {
	return func(ctx context.Context, op operation) (measured, error) {
		events, result, err := p.Events(ctx, op.args...)
		if err == nil && result.Code != 0 {
			err = fmt.Errorf("exit code %d: %s", result.Code, result.Stderr)
		}
		return measured{result.Took, events, result.Processor}, err
	}
}

// limit is how long a command line may take: one that hangs would keep the bench for ever.
const limit = 20 * time.Minute

// byCommand drives with a command line, which runs in a folder.
func byCommand(line, dir, kubeconfig, namespace string) drive {
	return func(ctx context.Context, op operation) (measured, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", op.command(line, namespace))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
		// What the shell has started ends with it: it would change the cluster of the next run.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		killAll := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		cmd.Cancel, cmd.WaitDelay = killAll, time.Second
		begun := time.Now()
		out, err := cmd.CombinedOutput()
		took := time.Since(begun)
		if cmd.Process != nil {
			_ = killAll() // there is nobody left, as a rule
		}
		if errors.Is(err, exec.ErrWaitDelay) {
			err, took = nil, took-cmd.WaitDelay // the shell has ended well, and left somebody who holds its output
		}
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		if err != nil {
			return measured{}, fmt.Errorf("%s: %w\n%s", cmd.Args[2], err, out)
		}
		return measured{wall: took}, nil
	}
}
