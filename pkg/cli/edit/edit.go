// Package edit is the verb that opens a TidbCluster in an editor.
package edit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/cmd/util/editor"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// options are the verb's flags and its arguments.
type options struct {
	flags.Options
	name []string // the argument that names the cluster
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "edit NAME",
		Short: "Edit a TidbCluster, and take the cluster there",
		Long: `Open the TidbCluster in the editor that KUBE_EDITOR or EDITOR names, as "kubectl edit"
does, and take the cluster to what is written there.

It is checked before it is written, as with "apply": fields that do not exist, a lower
version, a component that is taken out, and what the API server refuses. If anything is
wrong, the editor opens again, with the reasons at the top of the file. To save the file
without a change, or an empty one, ends the command. A file whose content was not written to
the API server is kept, and named. With --wait=false the cluster is left to another process
that drives it.`,
		Example: `  kubectl tidb edit basic

  # With another editor
  KUBE_EDITOR="nano" kubectl tidb edit basic

  # Only write it, for a daemon
  kubectl tidb edit basic --wait=false`,
		SuggestFor:        []string{"modify", "vi"},
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			o.name = args
			return run(cmd.Context(), o)
		},
	}
	o.Bind(cmd)
	o.BindFieldManager(cmd)
	o.BindEviction(cmd)
	o.BindConcurrency(cmd)
	o.BindStop(cmd)
	o.BindForce(cmd, "the change")
	return cmd
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	s, err := target.Open(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	d, err := s.Intent.Draft(ctx, s.Namespace, s.Name)
	if err != nil {
		return err
	}
	e := editing{
		draft: d, open: editor.NewDefaultEditor([]string{"KUBE_EDITOR", "EDITOR"}).LaunchTempFile,
		check: func(m *intent.Manifest) (check.Request, error) {
			r := check.Request{Action: "edit", WithoutPD: o.Force, Keep: true, Warnings: m.Lost()}
			var err error
			if r.Change, err = s.Intent.Edit(d, m); err == nil {
				r, err = check.WithNewVolumes(ctx, f, s, r)
			}
			if err == nil {
				err = check.Try(ctx, s, r)
			}
			return r, err
		},
	}
	r, file, err := e.edit(ctx)
	if err != nil {
		nameKeptFile(f.Streams.ErrOut, file)
		return err
	}
	if r.Want == nil {
		fmt.Fprintln(f.Streams.ErrOut, "nothing was changed in the editor, so nothing was changed")
		return nil
	}
	written := false
	write := r.Write
	r.Write = func(ctx context.Context, w intent.Write) error {
		err := write(ctx, w)
		written = written || err == nil && !w.DryRun
		return err
	}
	err = drive.Run(ctx, f, s, o.Options, r)
	if written {
		_ = os.Remove(file)
	} else {
		nameKeptFile(f.Streams.ErrOut, file)
	}
	return err
}

// nameKeptFile names the file with what a person has written and the API server does not have. So nobody writes it
// twice.
func nameKeptFile(errOut io.Writer, file string) {
	if file != "" {
		fmt.Fprintln(errOut, "what you have written is in "+file)
	}
}

// editing is an edit of one TidbCluster.
type editing struct {
	draft *intent.Draft
	// open opens an editor with a text, and returns what was saved, and the file.
	open func(prefix, suffix string, text io.Reader) ([]byte, string, error)
	// check returns the request that an edit means, and why it is refused.
	check func(*intent.Manifest) (check.Request, error)
}

// header is the top of the file.
const header = `# The TidbCluster, without its status. Lines with a # at the beginning are not read. To save an
# empty file, or one without a change, ends the command and changes nothing.
`

// edit opens the editor until what was saved can be written, or the person gives up. A request that
// wants nothing means that nothing was changed. The file is there where something was written that
// the caller has to keep.
func (e editing) edit(ctx context.Context) (r check.Request, file string, err error) {
	text, refused := e.draft.Text, error(nil)
	for ctx.Err() == nil {
		saved, path, err := e.open("kubectl-tidb-", ".yaml", bytes.NewReader(append([]byte(header+comment(refused)), text...)))
		if err != nil {
			return r, path, fmt.Errorf("edit: %w", err)
		}
		if file != "" {
			_ = os.Remove(file) // the newer file has what was written there
		}
		file = path
		got := uncommented(saved)
		switch {
		case refused != nil && (bytes.Equal(got, uncommented(text)) || len(bytes.TrimSpace(got)) == 0):
			return r, file, exit.With(max(exit.Of(refused), exit.Usage), refused)
		case len(bytes.TrimSpace(got)) == 0, bytes.Equal(got, uncommented(e.draft.Text)):
			_ = os.Remove(file)
			return check.Request{}, "", nil
		}
		m, err := e.draft.Edited(got)
		if err == nil {
			r, err = e.check(m)
		}
		if err == nil || ctx.Err() != nil || !correctable(err) {
			return r, file, err
		}
		text, refused = got, err
	}
	return r, file, context.Cause(ctx)
}

// correctable reports whether a person can mend what was refused by writing something else. An API server
// that does not answer is no reason to open the editor again.
func correctable(err error) bool {
	_, manifest := errors.AsType[*intent.ManifestError](err)
	return manifest || exit.Of(err) == exit.Refused || exit.Of(err) == exit.Usage
}

// comment returns why a text was refused, as lines that are not read.
func comment(refused error) string {
	if refused == nil {
		return "#\n"
	}
	return "#\n# This was refused, and nothing was changed (line 1 is the first one that is no comment):\n# " + strings.ReplaceAll(refused.Error(), "\n", "\n# ") + "\n#\n"
}

// uncommented returns a text without the lines at its top that begin with a #. These lines are the reasons of the
// last time. Comments further down are the person's.
func uncommented(text []byte) []byte {
	for bytes.HasPrefix(text, []byte("#")) {
		_, rest, found := bytes.Cut(text, []byte("\n"))
		if !found {
			return nil
		}
		text = rest
	}
	return text
}
