// Package flags has the flags that verbs share, in tables. A row says what a flag is called, what it is for, and
// with which other flags it goes. Help, the reference, completion and the checks come from the rows.
//
// Read table.go first, then run.go, which has the table of a run; the other files have types of values.
package flags

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// Flag is one row of a table.
type Flag struct {
	Name, Short, Usage string
	// Add adds the flag to a command, with its value and its default.
	Add func(*cobra.Command, Flag)
	// Values are what a shell offers for the flag; none where no list of values is known.
	Values []string
	// Needs is the flag without which this flag has no meaning; "" for none. The help begins with that.
	Needs string
	// Not are the settings of other flags with which this flag has no meaning.
	Not []*Setting
	// Daemon: the flag has a meaning for a daemon as well. "sync --watch" refuses each flag without this mark, so
	// that a new flag is not accepted there without an effect.
	Daemon bool
	// AtOnce: the flag has a meaning also for a change that is made at once, without a run. Such a change refuses
	// each flag without this mark, for the same reason.
	AtOnce bool
}

// Setting is a value of a flag with which some other flags have no meaning.
type Setting struct {
	Flag, Value string
	Does        string // what the setting does, for the refusal
}

// Table is a list of flags.
type Table []Flag

// Bind adds the flags to a command.
func (t Table) Bind(cmd *cobra.Command) {
	for _, f := range t {
		if f.Needs != "" {
			f.Usage = "With --" + f.Needs + ", " + f.Usage
		}
		f.Add(cmd, f)
		complete := cobra.NoFileCompletions
		if len(f.Values) > 0 {
			complete = cobra.FixedCompletions(f.Values, cobra.ShellCompDirectiveNoFileComp)
		}
		// An error means that the type of the value completes by itself.
		_ = cmd.RegisterFlagCompletionFunc(f.Name, complete)
	}
}

// Check refuses flags of a command line that do not go together.
func (t Table) Check(set *pflag.FlagSet) error {
	for _, f := range t {
		if missing := t.missing(set, f); missing != "" && used(set, f.Name) {
			return exit.Usagef("--%s goes with --%s", f.Name, missing)
		}
	}
	for _, s := range t.settings() {
		if at := set.Lookup(s.Flag); at == nil || at.Value.String() != s.Value {
			continue
		}
		var names []string
		wrong := false
		for _, f := range t {
			if slices.Contains(f.Not, s) {
				names = append(names, "--"+f.Name)
				wrong = wrong || used(set, f.Name)
			}
		}
		if wrong {
			return exit.Usagef("--%s=%s %s, so it does not go with %s", s.Flag, s.Value, s.Does, list(names))
		}
	}
	return nil
}

// CheckDaemon refuses flags of a command line that have no meaning for a daemon.
func (t Table) CheckDaemon(set *pflag.FlagSet) error {
	for _, f := range t {
		if !f.Daemon && used(set, f.Name) {
			return exit.Usagef("--%s does not go with --watch, which ends when it is interrupted", f.Name)
		}
	}
	return nil
}

// CheckAtOnce refuses flags of a command line that have no meaning for a change without a run. The text says what
// such a change is.
func (t Table) CheckAtOnce(set *pflag.FlagSet, what string) error {
	var given []string
	for _, f := range t {
		if !f.AtOnce && used(set, f.Name) {
			name := "--" + f.Name
			if set.Lookup(f.Name).Value.String() == "false" { // a switch that is on without the flag
				name += "=false"
			}
			given = append(given, name)
		}
	}
	if len(given) == 0 {
		return nil
	}
	return exit.Usagef("%s, so it does not go with %s", what, strings.Join(given, ", "))
}

// missing returns the flag that a flag needs and that is not given; "" for none. A needed flag may need another
// one, which is named first.
func (t Table) missing(set *pflag.FlagSet, f Flag) string {
	needed := set.Lookup(f.Needs)
	if needed == nil { // the command does by itself what the flag asks of others
		return ""
	}
	if i := slices.IndexFunc(t, func(o Flag) bool { return o.Name == f.Needs }); i >= 0 {
		if first := t.missing(set, t[i]); first != "" {
			return first
		}
	}
	if needed.Value.String() == needed.DefValue {
		return f.Needs
	}
	return ""
}

// settings returns the settings that rows name, each once.
func (t Table) settings() []*Setting {
	var all []*Setting
	for _, f := range t {
		for _, s := range f.Not {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// used reports whether a command line gives a flag a value that is not its default. A default does not count
// because scripts write --take-over=$X.
func used(set *pflag.FlagSet, name string) bool {
	f := set.Lookup(name)
	return f != nil && f.Changed && f.Value.String() != f.DefValue
}

// list returns names as a text, with "and" before the last one.
func list(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
