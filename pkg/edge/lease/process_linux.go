package lease

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// bootID identifies this boot of the machine and the pid namespace.
func bootID() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	pids, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + pids
}

// startOf returns when a process started, in ticks since boot, and whether it
// exists. The time is "" where it may not be read, which can be so for processes of
// other users.
func startOf(pid int) (start string, exists bool) {
	if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
		return "", false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", true
	}
	// The second field is the program's name in parentheses and may hold
	// anything; the third, after it, is the state, and the 22nd the start.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return "", true
	}
	if s := string(fields[0]); s == "Z" || s == "X" {
		return "", false // it has ended, only its parent has not noticed
	}
	return string(fields[19]), true
}
