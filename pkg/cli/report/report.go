// Package report is the verb that makes reports of runs from their events, and archives about clusters.
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
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/history"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report/document"
)

// options are the verb's flags.
type options struct {
	name   []string // the argument that names the cluster of an archive
	bundle string   // the file of an archive
	from   string
	output format
	files  output.Documents
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "report (--from FILE | NAME --bundle FILE)",
		Short: "Make a report of a run, or an archive about a cluster",
		Long: `Make a report of a run from the events that it has written with -o json: what was
done, what was waited for and how long, member by member, and what is left to do.
It reads only the file, and asks no cluster.

The formats are junit for CI systems, markdown for a job summary or a comment, and
html for a browser: one page that loads nothing. Without --report it is written to
stdout.

FILE may have several runs, of several clusters. A run that has no end, since it was
killed, is reported as that.

With --bundle it writes an archive about a cluster, to send to others: the TidbCluster,
StatefulSets, Services, ConfigMaps, claims, pods, events, what PD says, status and the
findings of doctor, and the last 500 log lines of pods that are not ready. Of Secrets it
has only names, keys and the dates of certificates; their values are taken out of all
files. What cannot be read is listed in it and on stderr, and keeps nothing else from
it. Logs and configurations may have other things that are not for everybody.`,
		Example: `  kubectl tidb upgrade basic v8.1.1 -o json > events.ndjson
  kubectl tidb report --from events.ndjson

  # For the CI system, and for people
  kubectl tidb report --from events.ndjson --report junit=junit.xml,html=upgrade.html

  # The same, written by the run itself
  kubectl tidb upgrade basic v8.1.1 --report junit=junit.xml,html=upgrade.html

  # What is known of a cluster, for somebody who helps
  kubectl tidb report basic --bundle basic.tar.gz`,
		SuggestFor:        []string{"summary", "history", "timeline", "collect", "must-gather"},
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args
			if err := o.validate(cmd.Flags().Changed("output")); err != nil {
				return err
			}
			if o.bundle != "" {
				return collect(cmd.Context(), f, &o)
			}
			if o.files.Given() && cmd.Flags().Changed("output") {
				return exit.Usagef("-o says what is written to stdout, and --report writes files: give one of them")
			}
			return run(cmd.Context(), f, &o)
		},
	}
	o.output = format(document.Markdown)
	cmd.Flags().StringVarP(&o.from, "from", "f", "", "The file of events, or - for standard input.")
	cmd.Flags().StringVar(&o.bundle, "bundle", "", "Write an archive about the cluster NAME to this file, e.g. basic.tar.gz.")
	_ = cmd.MarkFlagFilename("bundle", "tar.gz", "tgz")
	_ = cmd.MarkFlagFilename("from", "ndjson", "jsonl", "json")
	cmd.Flags().VarP(&o.output, "output", "o", "The format of what is written to stdout: junit, markdown or html.")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(document.Formats(), cobra.ShellCompDirectiveNoFileComp))
	o.files.Bind(cmd, "Write to files rather than to stdout, e.g. junit=junit.xml,html=run.html.")
	return cmd
}

func (o *options) validate(output bool) error {
	switch {
	case o.bundle == "" && len(o.name) > 0:
		return exit.Usagef("a report is made from a file of events: give --from FILE, or --bundle FILE for an archive about cluster %s", o.name[0])
	case o.bundle == "" && o.from == "":
		return exit.Usagef("give --from FILE, with the events of a run, or NAME --bundle FILE")
	case o.bundle != "" && (o.from != "" || o.files.Given() || output):
		return exit.Usagef("--bundle writes an archive about a cluster, so it does not go with --from, --report and -o")
	}
	return nil
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
