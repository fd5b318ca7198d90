package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
)

func tree() *cobra.Command {
	return NewRoot(factory.New(genericiooptions.NewTestIOStreamsDiscard(), os.Getenv, "v1.2.3"))
}

// leaves returns the commands that do something, "tls init" among them.
func leaves(parent *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, c := range parent.Commands() {
		if c.HasSubCommands() {
			all = append(all, leaves(c)...)
		} else {
			all = append(all, c)
		}
	}
	return all
}

// words returns the words of a command after the plugin's name.
func words(c *cobra.Command) []string { return strings.Fields(c.CommandPath())[2:] }

// group returns the group of a command, or of the one that it is part of.
func group(c *cobra.Command) string {
	for ; c.Parent().HasParent(); c = c.Parent() {
	}
	return c.GroupID
}

// described matches a flag's line in a help, with a sentence about it.
var described = regexp.MustCompile(`^ +(-\w, )?--[a-z-]+( \w+(\[=\w+\])?)? {2,}[A-Z].*\.( \(default .*\))?\n$`)

// TestTree checks of every command what a user can expect of it, also of commands that are added
// later.
func TestTree(t *testing.T) {
	for _, c := range leaves(tree()) {
		t.Run(strings.Join(words(c), " "), func(t *testing.T) {
			if c.Short == "" || strings.HasSuffix(c.Short, ".") || len(c.Short) > 60 {
				t.Errorf("short description %q", c.Short)
			}
			if c.Example == "" || !strings.HasPrefix(c.Example, "  ") {
				t.Errorf("example %q", c.Example)
			}
			if group(c) == "" && c.Name() != "help" && c.Name() != "options" {
				t.Error("no group")
			}
			if c.Args == nil || c.RunE == nil {
				t.Error("arguments are not checked, or errors are not returned")
			}
			for line := range strings.Lines(c.Example) {
				if len(strings.TrimRight(line, "\n")) > 90 {
					t.Errorf("a line does not fit into a terminal: %q", line)
				}
			}
			for line := range strings.Lines(c.LocalFlags().FlagUsages()) {
				if !described.MatchString(line) {
					t.Errorf("flag without a sentence about it: %q", line)
				}
			}
			takesArgs := strings.Contains(c.UseLine(), "NAME") || strings.Contains(c.UseLine(), "COMMAND")
			if takesArgs && c.ValidArgsFunction == nil {
				t.Error("arguments are not completed")
			}
		})
	}
}

// TestHelpOfEach: every command shows its help, in each way to ask for it, and does nothing else.
func TestHelpOfEach(t *testing.T) {
	for _, c := range leaves(tree()) {
		want := call(t.Context(), t, append(words(c), "--help")...)
		if c.Name() == "options" {
			if got := call(t.Context(), t, c.Name()); got != want || !strings.Contains(want.out, "--kubeconfig=''") {
				t.Errorf("%+v", want)
			}
			continue
		}
		if want.code != 0 || want.err != "" || !strings.Contains(want.out, "Usage:\n  kubectl tidb "+strings.Join(words(c), " ")) {
			t.Errorf("%s: %+v", c.Name(), want)
		}
		if got := call(t.Context(), t, append([]string{"help"}, words(c)...)...); got != want {
			t.Errorf("help %s: %+v", c.Name(), got)
		}
		if strings.Contains(want.out, "kubectl-tidb ") || strings.Contains(want.out, "--kubeconfig") {
			t.Errorf("%s: %s", c.Name(), want.out)
		}
	}
}

// TestTooManyArguments: every command fails with arguments that it does not know.
func TestTooManyArguments(t *testing.T) {
	for _, c := range leaves(tree()) {
		if strings.Contains(c.Use, "...") { // it takes any number of names
			continue
		}
		r := call(t.Context(), t, append(words(c), "a", "b", "c", "d")...)
		if r.code != 2 || r.out != "" {
			t.Errorf("%s a b c d: exit code %d, stdout %q", c.Name(), r.code, r.out)
		}
	}
}
