package remedy

import (
	"slices"
	"strings"
)

// Command is a command line of kubectl, or of this plugin, which is one of its words.
type Command struct {
	// Args are the words after kubectl, without namespace and context.
	Args []string
	// Namespace is the namespace of the objects, "" for objects that have none.
	Namespace string
	// Edits is a file to be changed by hand; then there are no words.
	Edits string
	// Input is the file that the command reads, Output the one that it writes.
	Input, Output string
}

// Kubectl returns a command of kubectl in a namespace.
func Kubectl(namespace string, args ...string) Command {
	return Command{Args: args, Namespace: namespace}
}

// Edit returns a command that opens a file in the user's editor.
func Edit(file string) Command { return Command{Edits: file} }

// Reading returns the command with a file as its input.
func (c Command) Reading(file string) Command {
	c.Input = file
	return c
}

// Writing returns the command with a file for its output.
func (c Command) Writing(file string) Command {
	c.Output = file
	return c
}

// Plugin returns a command of "kubectl tidb" in a namespace.
func Plugin(namespace string, args ...string) Command {
	return Command{Args: append([]string{"tidb"}, args...), Namespace: namespace}
}

// Line returns the command as a line for a POSIX shell. The flags of kubectl come before "--",
// because what follows belongs to another program. They do not come before the verb, because
// kubectl takes no flags there if the verb is a plugin.
func (c Command) Line(context string) string {
	if c.Edits != "" {
		return "${EDITOR:-vi} " + quote(c.Edits)
	}
	words, rest := c.Args, []string(nil)
	for i, w := range c.Args {
		if w == "--" {
			words, rest = c.Args[:i], c.Args[i:]
			break
		}
	}
	line := []string{"kubectl"}
	for _, w := range words {
		line = append(line, quote(w))
	}
	for _, flag := range [][2]string{{"-n", c.Namespace}, {"--context", context}} {
		if flag[1] != "" && !gives(words, flag[0]) && (flag[0] == "-n" || !gives(words, "--contexts")) {
			line = append(line, flag[0], quote(flag[1]))
		}
	}
	for _, w := range rest {
		line = append(line, quote(w))
	}
	for _, file := range [][2]string{{"<", c.Input}, {">", c.Output}} {
		if file[1] != "" {
			line = append(line, file[0], quote(file[1]))
		}
	}
	return strings.Join(line, " ")
}

// gives reports whether words have a value for a flag already: those of a command that a
// person typed may.
func gives(words []string, flag string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return w == flag || strings.HasPrefix(w, flag+"=") })
}

// plain are the characters that mean nothing to a shell.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"

// quote returns a word as a shell reads it back.
func quote(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
