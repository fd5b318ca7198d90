// Package plugin runs the built binary, as a user or a pipeline does.
package plugin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// Plugin is the binary, aimed at one namespace of one cluster.
type Plugin struct {
	Binary, Kubeconfig, Namespace string
}

// Result is a run that has ended.
type Result struct {
	Code           int
	Stdout, Stderr string
	Took           time.Duration
	// Processor is the processor time of the process, in user and system mode.
	Processor time.Duration
}

// Run runs the binary to its end.
func (p Plugin) Run(ctx context.Context, stdin io.Reader, args ...string) Result {
	cmd := p.Command(ctx, args...)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &errOut
	begun := time.Now()
	err := cmd.Run()
	r := Result{Stdout: out.String(), Stderr: errOut.String(), Took: time.Since(begun)}
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		r.Code = ended.ExitCode()
	} else if err != nil {
		r.Code, r.Stderr = -1, r.Stderr+err.Error()
	}
	r.Processor = processor(cmd)
	return r
}

// Command is the binary, ready to start.
func (p Plugin) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.Binary, append([]string{"--kubeconfig", p.Kubeconfig, "-n", p.Namespace}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG=")
	return cmd
}

// Events runs a driving verb with -o json to its end.
func (p Plugin) Events(ctx context.Context, args ...string) ([]event.Event, Result, error) {
	begun := time.Now()
	run := p.Start(ctx, append(args, "-o", "json")...)
	defer run.Close()
	var events []event.Event
	for e, err := range run.Events() {
		if err != nil {
			return events, Result{}, err
		}
		events = append(events, e)
	}
	code := run.Wait()
	return events, Result{Code: code, Stderr: run.errOut.String(), Took: time.Since(begun), Processor: processor(run.cmd)}, nil
}

// processor returns the processor time of a process that has ended, 0 for one that has not begun.
func processor(cmd *exec.Cmd) time.Duration {
	if cmd.ProcessState == nil {
		return 0
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// Running is a run that has not ended.
type Running struct {
	cmd    *exec.Cmd
	out    io.ReadCloser
	errOut bytes.Buffer
	err    error
}

// Start starts the binary.
func (p Plugin) Start(ctx context.Context, args ...string) *Running {
	r := &Running{cmd: p.Command(ctx, args...)}
	r.cmd.Stderr = &r.errOut
	if r.out, r.err = r.cmd.StdoutPipe(); r.err == nil {
		r.err = r.cmd.Start()
	}
	return r
}

// Events are the events as they come, up to the end.
func (r *Running) Events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		if r.err != nil {
			yield(event.Event{}, r.err)
			return
		}
		lines := bufio.NewScanner(r.out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var e event.Event
			err := json.Unmarshal(lines.Bytes(), &e)
			if err != nil {
				err = fmt.Errorf("stdout has a line that is no event: %q: %w", lines.Text(), err)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Stderr is what the run has said there, all of it once it has ended.
func (r *Running) Stderr() string { return r.errOut.String() }

// Signal sends a signal to the run.
func (r *Running) Signal(s os.Signal) error { return r.cmd.Process.Signal(s) }

// Wait waits for the end and returns the exit code, -1 after a fatal signal.
func (r *Running) Wait() int {
	_ = r.cmd.Wait()
	return r.cmd.ProcessState.ExitCode()
}

// Close ends a run that has not ended.
func (r *Running) Close() {
	if r.cmd.Process != nil && r.cmd.ProcessState == nil {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
	}
}
