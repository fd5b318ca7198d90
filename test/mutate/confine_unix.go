//go:build linux || darwin

package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// confine is what the test binary of a mutant is started through: this program
// once more, which gives up memory and processor time for good and then becomes
// the test. A loop that a mutant has made endless must not take the machine down.
func confine(args []string) error {
	memory, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return err
	}
	for what, most := range map[int]uint64{syscall.RLIMIT_AS: memory, syscall.RLIMIT_CPU: seconds} {
		limit := syscall.Rlimit{Cur: most, Max: most}
		if err := syscall.Setrlimit(what, &limit); err != nil {
			return fmt.Errorf("limit %d to %d: %w", what, most, err)
		}
	}
	return syscall.Exec(args[2], args[2:], os.Environ())
}
