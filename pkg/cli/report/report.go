// Package report is the verb that makes reports of runs from their events.
package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/history"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report/document"
)

// options are the verb's flags.
type options struct {
	from   string
	output format
	files  output.Documents
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "report --from FILE",
		Short: "Make a report of a run from its events",
		Long: `Make a report of a run from the events that it has written with -o json: what was
done, what was waited for and how long, member by member, and what is left to do.
It reads only the file, and asks no cluster.

The formats are junit for CI systems, markdown for a job summary or a comment, and
html for a browser: one page that loads nothing. Without --report it is written to
stdout.

FILE may have several runs, of several clusters. A run that has no end, since it was
killed, is reported as that.`,
		Example: `  kubectl tidb upgrade basic v8.1.1 -o json > events.ndjson
  kubectl tidb report --from events.ndjson

  # For the CI system, and for people
  kubectl tidb report --from events.ndjson --report junit=junit.xml,html=upgrade.html

  # The same, written by the run itself
  kubectl tidb upgrade basic v8.1.1 --report junit=junit.xml,html=upgrade.html`,
		SuggestFor: []string{"summary", "history", "timeline"},
		Args:       cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.files.Given() && cmd.Flags().Changed("output") {
				return exit.Usagef("-o says what is written to stdout, and --report writes files: give one of them")
			}
			return run(cmd.Context(), f, &o)
		},
	}
	o.output = format(document.Markdown)
	cmd.Flags().StringVarP(&o.from, "from", "f", "", "The file of events, or - for standard input.")
	_ = cmd.MarkFlagRequired("from")
	_ = cmd.MarkFlagFilename("from", "ndjson", "jsonl", "json")
	cmd.Flags().VarP(&o.output, "output", "o", "The format of what is written to stdout: junit, markdown or html.")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(document.Formats(), cobra.ShellCompDirectiveNoFileComp))
	o.files.Bind(cmd, "Write to files rather than to stdout, e.g. junit=junit.xml,html=run.html.")
	return cmd
}

// run writes a report. What cannot be read is found before a file is written.
func run(ctx context.Context, f *factory.Factory, o *options) error {
	runs, err := read(ctx, f, o.from)
	if err != nil {
		return err
	}
	if !o.files.Given() {
		return document.Write(f.Streams.Out, document.Format(o.output), runs)
	}
	if err := o.files.Begin(); err != nil {
		return err
	}
	return o.files.WriteRuns(runs)
}

func read(ctx context.Context, f *factory.Factory, from string) ([]history.Run, error) {
	text, err := contents(ctx, f, from)
	if err != nil {
		return nil, err
	}
	runs, err := document.Read(bytes.NewReader(text))
	if err != nil {
		return nil, exit.With(exit.Usage, fmt.Errorf("%s has no events of a run, as -o json writes them: %w", from, err))
	}
	return runs, nil
}

func contents(ctx context.Context, f *factory.Factory, from string) ([]byte, error) {
	if from == "-" {
		return f.Input(ctx, io.ReadAll)
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return nil, exit.With(exit.Usage, fmt.Errorf("read the events: %w", err))
	}
	return text, nil
}

// format is the flag -o.
type format document.Format

// String implements pflag.Value.
func (o *format) String() string { return string(*o) }

// Set implements pflag.Value.
func (o *format) Set(name string) error {
	parsed, err := document.Parse(name)
	if err != nil {
		return errors.New("supported formats: junit, markdown, html")
	}
	*o = format(parsed)
	return nil
}

// Type implements pflag.Value.
func (o *format) Type() string { return "format" }
