//go:build !linux

// Command node brings up one real Kubernetes node, which needs Linux.
package main

import (
	"fmt"
	"os"
	"runtime"
)

func main() {
	fmt.Fprintf(os.Stderr, "node: the node runs on Linux only, this is %s\n", runtime.GOOS)
	os.Exit(1)
}
