//go:build !linux

package resident

// unmapProgram does nothing: what a process has in memory is limited, and counted in pages, on Linux only.
func unmapProgram() {}
