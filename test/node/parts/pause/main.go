// Command pause holds a pod's network namespace open until the pod ends.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ended := make(chan os.Signal, 1)
	// The first process of a pid namespace ignores every signal that it does not handle itself, so without this each
	// pod would take its whole grace period to end.
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	<-ended
}
