package report

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableCursor asks the console to interpret escape sequences. An old console cannot, and
// gets plain lines instead.
func enableCursor(f *os.File) bool {
	h := windows.Handle(f.Fd())
	var mode uint32
	if windows.GetConsoleMode(h, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
