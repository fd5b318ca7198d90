package dial

import "golang.org/x/sys/windows"

// refused is the system's error when nothing listens on a port. Windows does not
// return syscall.ECONNREFUSED, although it is defined there.
const refused = windows.WSAECONNREFUSED
