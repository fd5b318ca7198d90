// Package remedy says what a person can do, as data: sentences, and commands that work
// when they are pasted into a shell.
//
// Deciding knows the namespace and the names of pods and containers, and nothing of kubeconfig
// contexts. So a command is kept as its words, and becomes a line only where it is shown, where the
// context is known: a line without it, pasted by a user who works with --context, changes another
// cluster.
package remedy

// Remedy is what a person can do: alternatives, with the one to try first in front.
type Remedy []Action

// Action is one thing to do. Text is a sentence, or what the commands are for; either
// of the two may be missing.
type Action struct {
	Text     string
	Commands []Command // one after another; each needs the one before it to succeed
}

// Say returns an action that no command can do.
func Say(text string) Action { return Action{Text: text} }

// Run returns an action done by commands. The text says what they are for, as in "see
// why it does not start"; it may be empty.
func Run(text string, commands ...Command) Action { return Action{Text: text, Commands: commands} }
