package process

import (
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Program is a long-running program to start.
type Program struct {
	Name      string
	Path      string
	Arguments []string
	Env       []string
	// Log is the file that receives its output.
	Log string
	// Place starts the command where it belongs, for example in a network namespace.
	Place func(start func() error) error
}

// Launch starts a program that outlives this one.
func Launch(program Program) (Record, error) {
	if err := os.MkdirAll(filepath.Dir(program.Log), 0o755); err != nil {
		return Record{}, fmt.Errorf("create the log folder of %s: %w", program.Name, err)
	}
	log, err := os.OpenFile(program.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return Record{}, fmt.Errorf("open the log of %s: %w", program.Name, err)
	}
	defer log.Close()
	command := exec.Command(program.Path, program.Arguments...)
	command.Stdout, command.Stderr = log, log
	command.Env = append(os.Environ(), program.Env...)
	command.Dir = "/"
	// A lock or a pipe of the process that started this one would be held for as long as the node is up.
	if err := unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return Record{}, fmt.Errorf("keep open files from %s: %w", program.Name, err)
	}
	// An own session: the terminal's interrupt key and hang-up must not end the node.
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	start := command.Start
	if program.Place != nil {
		start = func() error { return program.Place(command.Start) }
	}
	if err := start(); err != nil {
		return Record{}, fmt.Errorf("start %s: %w", program.Name, err)
	}
	return identify(program.Name, command.Process.Pid)
}

// LastLines returns the end of a log, to be shown with an error.
func LastLines(path string, count int) string {
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	const window = 16 << 10
	if info, err := file.Stat(); err == nil && info.Size() > window {
		if _, err := file.Seek(-window, io.SeekEnd); err != nil {
			return err.Error()
		}
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
