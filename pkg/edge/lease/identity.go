package lease

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"sync"
)

// Identity names a process, so that another process on the same machine can find
// out whether it is still alive.
type Identity struct {
	User, Host string
	PID        int
	// Start is when the process started, in the format of the operating system: the
	// pid alone may belong to another process now.
	Start string
	// Boot identifies the boot of the machine and the pid namespace, since
	// containers share a machine, and sometimes its host name, but not their pids.
	// It is "" where the operating system does not provide it.
	Boot string
}

// Self returns the identity of this process.
var Self = sync.OnceValue(func() Identity {
	i := Identity{User: "unknown", Host: "unknown", PID: os.Getpid()}
	if u, err := user.Current(); err == nil {
		i.User = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		i.Host = h
	}
	i.Start, _ = startOf(i.PID)
	if boot := bootID(); boot != "" {
		sum := sha256.Sum256([]byte(boot))
		i.Boot = hex.EncodeToString(sum[:4])
	}
	return i
})

// String returns the holder identity as it is written into the Lease, e.g.
// "ann@laptop/4711/8812345/3f2a9c1e".
func (i Identity) String() string {
	return fmt.Sprintf("%s@%s/%d/%s/%s", i.User, i.Host, i.PID, i.Start, i.Boot)
}

// Parse reads a holder identity. ok is false for one that another program wrote.
func Parse(s string) (Identity, bool) {
	parts := strings.Split(s, "/")
	if len(parts) < 4 {
		return Identity{}, false
	}
	n := len(parts)
	who := strings.Join(parts[:n-3], "/")
	at := strings.LastIndex(who, "@")
	pid, err := strconv.Atoi(parts[n-3])
	if at < 0 || err != nil || pid <= 0 {
		return Identity{}, false
	}
	return Identity{User: who[:at], Host: who[at+1:], PID: pid, Start: parts[n-2], Boot: parts[n-1]}, true
}

// Describe returns a name of the process for a person, e.g. "ann@laptop (pid
// 4711)".
func (i Identity) Describe() string {
	return fmt.Sprintf("%s@%s (pid %d)", i.User, i.Host, i.PID)
}

// Person names who runs the process, e.g. "ann@laptop".
func (i Identity) Person() string { return i.User + "@" + i.Host }

// knowsDead reports whether another holder is known to be dead. It ran on this machine since the last boot, in this
// pid namespace, and no process has its pid and start time. If any of this is unknown the holder may be alive.
func (i Identity) knowsDead(holder string) bool {
	h, ok := Parse(holder)
	if !ok || h.Boot == "" || h.Start == "" || h.Boot != i.Boot || h.Host != i.Host {
		return false
	}
	start, exists := startOf(h.PID)
	return !exists || start != "" && start != h.Start
}
