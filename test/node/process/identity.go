// Package process starts the node's long-running programs and ends them again, and never any other program: a process
// is known by its id together with the moment it started, so that a recycled id is not mistaken for it.
package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Record identifies a process that the node started.
type Record struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
	// Start is the kernel's start time of the process in clock ticks since boot.
	Start uint64 `json:"start"`
}

// Fields of /proc/<pid>/stat counted after the command, which is in brackets and may itself contain blanks and
// brackets.
const (
	stateField = 0
	startField = 19
)

// parseStat reads the state and the start time of a process from its stat line.
func parseStat(line []byte) (state byte, start uint64, err error) {
	end := bytes.LastIndexByte(line, ')')
	if end < 0 {
		return 0, 0, errors.New("no command in the stat line")
	}
	fields := bytes.Fields(line[end+1:])
	if len(fields) <= startField {
		return 0, 0, fmt.Errorf("stat line has only %d fields after the command", len(fields))
	}
	start, err = strconv.ParseUint(string(fields[startField]), 10, 64)
	return fields[stateField][0], start, err
}

// identify returns the record of a running process.
func identify(name string, pid int) (Record, error) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Record{}, fmt.Errorf("look up process %s: %w", name, err)
	}
	_, start, err := parseStat(line)
	if err != nil {
		return Record{}, fmt.Errorf("look up process %s: %w", name, err)
	}
	return Record{Name: name, PID: pid, Start: start}, nil
}

// Alive reports whether the recorded process still runs.
func (r Record) Alive() bool {
	if r.PID <= 0 {
		return false
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.PID))
	if err != nil {
		return false
	}
	state, start, err := parseStat(line)
	// A zombie has ended; only its parent has not noticed yet.
	return err == nil && start == r.Start && state != 'Z' && state != 'X'
}

const pollInterval = 20 * time.Millisecond

// End asks the process to end and kills it when it has not done so in time. Without patience it is killed at once.
func (r Record) End(patience time.Duration) error {
	if patience > 0 {
		if err := r.signal(syscall.SIGTERM); err != nil {
			return err
		}
		if r.goneWithin(patience) {
			return nil
		}
	}
	if err := r.signal(syscall.SIGKILL); err != nil {
		return err
	}
	if !r.goneWithin(5 * time.Second) {
		return fmt.Errorf("process %s (%d) is still there after it was killed", r.Name, r.PID)
	}
	return nil
}

func (r Record) signal(signal syscall.Signal) error {
	if !r.Alive() {
		return nil
	}
	if err := syscall.Kill(r.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("end process %s (%d): %w", r.Name, r.PID, err)
	}
	return nil
}

func (r Record) goneWithin(limit time.Duration) bool {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(pollInterval) {
		if !r.Alive() {
			return true
		}
	}
	return !r.Alive()
}

// AwaitReaped waits a moment until ended processes are gone from the process table, too. Whether they go is up to their
// parent, so it is no error when they stay.
func AwaitReaped(pids []int) {
	deadline := time.Now().Add(3 * time.Second)
	for _, pid := range pids {
		for time.Now().Before(deadline) {
			if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil {
				break
			}
			time.Sleep(pollInterval)
		}
	}
}
