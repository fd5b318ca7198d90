package endpoint

import "golang.org/x/sys/windows"

// What the system returns for an address that is in use, or not permitted. Windows
// does not return syscall.EADDRINUSE and syscall.EACCES, although they are defined
// there.
const (
	inUse  = windows.WSAEADDRINUSE
	denied = windows.WSAEACCES
)
