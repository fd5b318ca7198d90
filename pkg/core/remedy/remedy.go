// Package remedy says what a person can do, as data. The data are sentences, and commands that work
// when they are pasted into a shell.
//
// The code that decides knows the namespace and the names of pods and containers, and nothing of
// kubeconfig contexts. So a command is kept as its words, and becomes a line only where it is
// shown, where the context is known. A line without the context is wrong for a user who works with
// --context: pasted, it changes another cluster.
package remedy

// Remedy is what a person can do: alternatives, with the one to try first in front.
type Remedy []Action

// Action is one thing to do. Text is a sentence, or what the commands are for; either
// of the two may be missing.
type Action struct {
	Text     string
	Commands []Command // in this order; each needs the command before to succeed
}

// Say returns an action that no command can do.
func Say(text string) Action { return Action{Text: text} }

// Run returns an action done by commands. The text says what the commands are for, as in "see why
// it does not start"; it may be empty.
func Run(text string, commands ...Command) Action { return Action{Text: text, Commands: commands} }
