//go:build !windows

package endpoint

import "syscall"

// What the system returns for an address that is in use, or not permitted.
const (
	inUse  = syscall.EADDRINUSE
	denied = syscall.EACCES
)
