package lease

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// bootID identifies this boot of the machine.
func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}

// startOf returns when a process started, and whether it exists.
func startOf(pid int) (start string, exists bool) {
	if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
		return "", false
	}
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", true
	}
	const zombie = 5
	if p.Proc.P_stat == zombie {
		return "", false
	}
	return fmt.Sprintf("%d.%06d", p.Proc.P_starttime.Sec, p.Proc.P_starttime.Usec), true
}
