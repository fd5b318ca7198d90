//go:build !windows

package dial

import "syscall"

// refused is the system's error when nothing listens on a port.
const refused = syscall.ECONNREFUSED
