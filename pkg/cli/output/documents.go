package output

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/history"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report/document"
)

// Documents is the flag --report: files that say what a run did and waited for. It receives the
// events of all runs of a command, and may be used concurrently. Without the flag it does nothing.
type Documents struct {
	files []file

	mu    sync.Mutex
	seen  history.Builder
	begun bool
}

type file struct {
	format document.Format
	path   string
}

// Bind adds the flag to a command.
func (d *Documents) Bind(cmd *cobra.Command, what string) {
	cmd.Flags().Var(d, "report", what+" Formats: "+strings.Join(document.Formats(), ", ")+".")
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("report", func(_ *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
		before, word := "", begin
		if at := strings.LastIndex(begin, ","); at >= 0 {
			before, word = begin[:at+1], begin[at+1:]
		}
		if strings.Contains(word, "=") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		var all []string
		for _, f := range document.Formats() {
			all = append(all, before+f+"=")
		}
		return all, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
}

// Given reports whether there are files to write.
func (d *Documents) Given() bool { return d != nil && len(d.files) > 0 }

// String implements pflag.Value.
func (d *Documents) String() string {
	var all []string
	for _, f := range d.files {
		all = append(all, string(f.format)+"="+f.path)
	}
	return strings.Join(all, ",")
}

// Set implements pflag.Value. The flag may be given several times.
func (d *Documents) Set(value string) error {
	for pair := range strings.SplitSeq(value, ",") {
		name, path, ok := strings.Cut(pair, "=")
		format, err := document.Parse(name)
		switch {
		case err != nil:
			return err
		case !ok || path == "":
			return fmt.Errorf("%s needs a file, as %s=FILE", name, name)
		case path == "-":
			return errors.New("a report is written to a file")
		case slices.ContainsFunc(d.files, func(f file) bool { return f.path == path }):
			return fmt.Errorf("two reports to the same file %s", path)
		}
		d.files = append(d.files, file{format, path})
	}
	return nil
}

// Type implements pflag.Value.
func (d *Documents) Type() string { return "files" }

// Begin checks that all files can be written, and empties the files. A report of an earlier run must not be taken
// for the report of a run that is killed. Begin comes before a run changes anything.
func (d *Documents) Begin() error {
	if !d.Given() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.begun {
		return nil
	}
	var made []string
	for _, f := range d.files {
		_, before := os.Lstat(f.path)
		out, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			for _, path := range made {
				_ = os.Remove(path)
			}
			return exit.With(exit.Usage, fmt.Errorf("--report %s=%s: the file cannot be written, and nothing was changed: %w", f.format, f.path, err))
		}
		if before != nil {
			made = append(made, f.path)
		}
		_ = out.Close()
	}
	for _, f := range d.files {
		if !f.shared() {
			_ = os.Truncate(f.path, 0) // a named pipe has no size
		}
	}
	d.begun = true
	return nil
}

// Write writes all files, each with the runs that there were so far. If a command drives several clusters, and is
// killed, there are reports of the clusters that it was done with.
func (d *Documents) Write() error {
	if !d.Given() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.WriteRuns(d.seen.Runs())
}

// WriteRuns writes all files, each with these runs.
func (d *Documents) WriteRuns(runs []history.Run) error {
	var all []error
	for _, f := range d.files {
		if err := f.write(runs); err != nil {
			all = append(all, fmt.Errorf("write the report %s: %w", f.path, err))
		}
	}
	return errors.Join(all...)
}

// shared reports whether the file may be one that this process also writes otherwise. An example is /dev/stdout of a
// command whose output goes to a log.
func (f file) shared() bool { return strings.HasPrefix(f.path, "/dev/") }

func (f file) write(runs []history.Run) error {
	how := os.O_TRUNC
	if f.shared() {
		how = os.O_APPEND
	}
	out, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|how, 0o644)
	if err != nil {
		return err
	}
	if err := document.Write(out, f.format, runs); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}

// In returns a reporter of the runs in a kubeconfig context. Events otherwise get the context's name from the code
// that shows them.
func (d *Documents) In(context string) Recorder { return Recorder{d, context} }

// Recorder records events for reports.
type Recorder struct {
	to      *Documents
	context string
}

// Report takes an event in.
func (r Recorder) Report(e event.Event) {
	if !r.to.Given() {
		return
	}
	r.to.mu.Lock()
	defer r.to.mu.Unlock()
	e.Context = r.context
	r.to.seen.Add(e)
}
