package resident

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// unmapProgram has no page of the program's file count as resident until it is used again. Linux maps sixteen pages
// and more around each one that is used, so that a start, which uses a little of everything, maps most of the file.
// What goes wrong changes nothing.
func unmapProgram() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(maps)) {
		if from, size, ok := readOnly(line, program); ok {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, size, syscall.MADV_DONTNEED)
		}
	}
}

// readOnly returns the addresses of a line of /proc/self/maps that is about a part of the file which cannot be written
// to: its pages are those of the file.
func readOnly(line, file string) (from, size uintptr, ok bool) {
	fields := strings.Fields(line)
	if len(fields) != 6 || fields[5] != file || !strings.HasPrefix(fields[1], "r-") {
		return 0, 0, false
	}
	first, last, _ := strings.Cut(fields[0], "-")
	begin, err := strconv.ParseUint(first, 16, int(unsafe.Sizeof(from))*8)
	end, err2 := strconv.ParseUint(last, 16, int(unsafe.Sizeof(from))*8)
	return uintptr(begin), uintptr(end - begin), err == nil && err2 == nil && end > begin
}
