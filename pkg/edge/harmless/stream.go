package harmless

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// Stream is an output of the process. What is written to a Stream reaches the terminal or the log without hidden
// characters, so that no text of a member controls the terminal. Commands to a CI system do not reach the output
// either. Line breaks and tabs stay, because the plugin's own layout needs them. Code that prints a text of others
// cannot forget to clean the text.
//
// It also remembers that a write has failed, so that a command whose output is lost does not end with success.
type Stream struct {
	to io.Writer

	mu     sync.Mutex
	rest   []byte // the beginning of a character, whose other bytes come with the next write
	line   line
	failed error
}

// NewStream returns a stream that writes to an output.
func NewStream(to io.Writer) *Stream { return &Stream{to: to, line: line{begin: true}} }

// Write implements io.Writer.
func (s *Stream) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := append(s.rest, text...)
	out := make([]byte, 0, len(in)+8)
	for len(in) > 0 && utf8.FullRune(in) {
		r, size := utf8.DecodeRune(in)
		in = in[size:]
		switch {
		case r == '\n' || r == '\t':
		case unicode.IsControl(r):
			r = ' '
		case hidden(r):
			r = utf8.RuneError
		}
		if s.line.commands(r) {
			out = append(out, ' ')
		}
		out = utf8.AppendRune(out, r)
	}
	s.rest = append([]byte(nil), in...)
	return len(text), s.pass(out)
}

// pass writes to the output. It is called with the lock.
func (s *Stream) pass(b []byte) error {
	_, err := s.to.Write(b)
	if s.failed == nil {
		s.failed = err
	}
	return err
}

// Failed returns why a write has failed; nil if none has. A reader that has gone, as with "| head", or that was never
// there, as with ">&-", wants no output, so that is no failure.
func (s *Stream) Failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(s.failed, syscall.EPIPE) || errors.Is(s.failed, syscall.EBADF) || errors.Is(s.failed, os.ErrClosed) {
		return nil
	}
	return s.failed
}

// Raw returns a writer to the same output that leaves all characters as they are. The display uses Raw, because its
// own texts are cleaned before they are coloured. Raw is also for data that a program reads.
func Raw(w io.Writer) io.Writer {
	if s, ok := w.(*Stream); ok {
		return raw{s}
	}
	return w
}

type raw struct{ s *Stream }

func (r raw) Write(b []byte) (int, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if err := r.s.pass(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Under returns the output that a stream writes to: to ask whether it is a terminal, or for another program.
func Under(w io.Writer) io.Writer {
	switch w := w.(type) {
	case *Stream:
		return w.to
	case raw:
		return w.s.to
	}
	return w
}

// line knows as much of the line that is being written as commands to CI systems need. GitHub Actions takes a line
// that begins with "::", and "##[" anywhere, for a command. Azure Pipelines and TeamCity take "##vso[" and
// "##teamcity[".
type line struct {
	begin  bool // only blanks and colons so far
	colon  bool // the last character was a colon
	hashes int  // how many "#" there were just before, or before the word that goes on
}

// commands reports whether the next character would complete a command, so that a blank has to come before it.
func (l *line) commands(r rune) bool {
	completes := r == ':' && l.begin && l.colon || r == '[' && l.hashes >= 2
	switch {
	case r == '\n':
		*l = line{begin: true}
		return false
	case r != ':' && r != ' ' && r != '\t':
		l.begin = false
	}
	l.colon = r == ':'
	switch {
	case r == '#':
		l.hashes++
	case l.hashes < 2 || r < 'a' || r > 'z':
		l.hashes = 0
	}
	return completes
}
