// Package cli is the command line: one package per verb, and here the root, the
// signals and the exit.
//
// A verb turns flags into options and options into an intent. A verb has no logic of its own; package drive runs the
// engine for all verbs.
package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/explain"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/version"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/resident"
)

// Main runs the command line and returns the exit code.
func Main(args []string, streams genericiooptions.IOStreams, env func(string) string) int {
	resident.Starts()
	quiet()
	ctx, stop := interruptible(streams.ErrOut)
	defer stop()
	return run(ctx, args, streams, env)
}

// quiet drops the libraries' own log. The important part is reported as events, and the rest would break the live
// screen.
func quiet() { klog.SetLogger(logr.Discard()) }

func run(ctx context.Context, args []string, streams genericiooptions.IOStreams, env func(string) string) int {
	return Over(ctx, nil, args, streams, env)
}

// Over runs the command line over connections that connect makes, or over the network where connect is nil. Tests use
// it.
func Over(ctx context.Context, connect dial.Connect, args []string, streams genericiooptions.IOStreams, env func(string) string) int {
	f, root := prepare(args, streams, env)
	f.Connect = connect
	return execute(ctx, f, root)
}

// prepare makes the command. It must not run at the same time in several goroutines, because kubectl's completion keeps
// its factory in a global variable.
func prepare(args []string, streams genericiooptions.IOStreams, env func(string) string) (*factory.Factory, *cobra.Command) {
	f := factory.New(streams, env, version.Short())
	f.Args = args
	root := NewRoot(f)
	root.SetArgs(args)
	return f, root
}

func execute(ctx context.Context, f *factory.Factory, root *cobra.Command) int {
	err := explain.Error(exit.Ended(ctx, root.ExecuteContext(ctx)))
	if err == nil {
		err = f.Written()
	}
	if text := tidy(err, f.Context()); text != "" {
		fmt.Fprintln(f.Streams.ErrOut, "error: "+text)
	}
	return int(exit.Of(err))
}

// tidy returns an error as one paragraph, which can be pasted into a ticket. It returns "" for an
// interrupt: the user has just pressed Ctrl-C and needs no explanation.
func tidy(err error, context string) string {
	if err == nil || errors.Is(err, exit.ErrInterrupted) {
		return ""
	}
	var lines []string
	for line := range strings.Lines(remedy.Text(err, context)) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
