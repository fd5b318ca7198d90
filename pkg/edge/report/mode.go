package report

import (
	"io"
	"strings"
)

// Mode is a way to report.
type Mode int

const (
	// Plain writes a line per change to ErrOut, and a heartbeat when silent.
	Plain Mode = iota
	// TTY keeps a live screen on ErrOut.
	TTY
	// JSON writes every event as a line to Out, and nothing to ErrOut.
	JSON
)

func (m Mode) String() string { return [...]string{"plain", "tty", "json"}[m] }

// Choose returns the mode that -o asks for. Without -o it is a live screen in a terminal that can show a live
// screen.
func Choose(output string, terminal bool, env func(string) string) Mode {
	switch {
	case output == "json":
		return JSON
	case terminal && !InCI(env) && env("TERM") != "dumb":
		return TTY
	}
	return Plain
}

// InCI reports whether a CI system runs this process, by the variable that all CI systems
// set. Some people set it to false to get the output for a person.
func InCI(env func(string) string) bool {
	v := strings.ToLower(env("CI"))
	return v != "" && v != "0" && v != "false"
}

// Detect fills the options in from the two streams, the value of -o and the
// environment. The caller adds the target.
func Detect(out, errOut io.Writer, output string, env func(string) string) Options {
	size, terminal := terminalOf(errOut)
	return Options{
		Out:     out,
		ErrOut:  errOut,
		Mode:    Choose(output, terminal, env),
		NoColor: env("NO_COLOR") != "",
		ASCII:   !utf8Locale(env),
		Size:    size,
	}
}

// utf8Locale reads the locale as the C library does: the first variable that is set decides.
// Windows has no such variables, but its modern terminals, which set WT_SESSION,
// are UTF-8.
func utf8Locale(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(env(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return env("WT_SESSION") != ""
}
