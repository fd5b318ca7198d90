package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// commandLine matches a line that a user types, up to what the shell does with its output.
var commandLine = regexp.MustCompile(`^\s*(?:\$ )?kubectl tidb ((?:'[^']*'|"[^"]*"|[^'"#|<>&;\n])*)`)

// word matches an argument as a shell splits them.
var word = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)

// split returns the arguments of a line, nil if it is no command of the plugin.
func split(line string) []string {
	found := commandLine.FindStringSubmatch(line)
	if found == nil {
		return nil
	}
	var args []string
	for _, w := range word.FindAllString(found[1], -1) {
		args = append(args, strings.NewReplacer(`"`, "", "'", "").Replace(w))
	}
	return args
}

// wrong returns what is wrong with a command line, without running it.
func wrong(args []string) error {
	c, rest, err := tree().Find(args)
	if err != nil {
		return err
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	if help, _ := c.Flags().GetBool("help"); help || c.HasSubCommands() {
		return nil
	}
	if err := c.ValidateArgs(c.Flags().Args()); err != nil {
		return err
	}
	return c.ValidateRequiredFlags()
}

// TestExamples: command lines in the help of commands and in documents have flags and numbers of
// arguments that exist.
func TestExamples(t *testing.T) {
	texts := map[string]string{}
	for _, c := range leaves(tree()) {
		texts[c.CommandPath()] = c.Example
	}
	for _, dir := range []string{"../../README.md", "../../docs", "../../plugins"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() != "reference" || !d.IsDir() && filepath.Ext(path) != ".md" {
				return err
			}
			if d.IsDir() { // it is made from the commands
				return fs.SkipDir
			}
			text, err := os.ReadFile(path)
			texts[path] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for where, text := range texts {
		for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
			if args := split(line); args != nil {
				n++
				if err := wrong(args); err != nil {
					t.Errorf("%s: kubectl tidb %q: %v", where, args, err)
				}
			}
		}
	}
	if n < 150 {
		t.Errorf("only %d command lines were found", n)
	}
	if wrong([]string{"scale", "basic", "tikv=4", "--no-such-flag"}) == nil || wrong([]string{"status", "a", "b", "c"}) == nil {
		t.Error("what is wrong is not found")
	}
}
