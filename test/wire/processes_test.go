package wire

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"
)

var processes = flag.Int("processes", runtime.NumCPU(), "in how many processes random runs are done; 1 for a profile")

// inProcesses does random runs in several processes, each of which takes a part of the seeds and one processor: with
// two processors in one process, the order of requests would depend on the moment.
func inProcesses(t *testing.T, parts, first, seeds uint64) {
	begun := time.Now()
	var mu sync.Mutex
	var used time.Duration
	var all sync.WaitGroup
	for i := range parts {
		from, to := i*seeds/parts, (i+1)*seeds/parts
		all.Go(func() {
			run := exec.CommandContext(t.Context(), os.Args[0], inOneProcess(first+from, to-from)...)
			run.Stdout, run.Stderr = t.Output(), t.Output()
			if err := run.Run(); err != nil {
				t.Errorf("seeds %d to %d: %v", first+from, first+to-1, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if run.ProcessState != nil {
				used += run.ProcessState.UserTime() + run.ProcessState.SystemTime()
			}
		})
	}
	all.Wait()
	t.Logf("%d runs, %.2f a second, %.2f for each second of a processor",
		seeds, float64(seeds)/time.Since(begun).Seconds(), float64(seeds)/used.Seconds())
}

// inOneProcess returns the arguments of a process that does some of the runs, as this process was asked for.
func inOneProcess(first, seeds uint64) []string {
	all := []string{"-test.run=^TestSeeds$", "-processes=1", fmt.Sprintf("-seed=%d", first), fmt.Sprintf("-seeds=%d", seeds)}
	for _, name := range []string{"test.v", "test.timeout", "test.failfast", "underway", "transcript", "upgrade"} {
		if f := flag.Lookup(name); f != nil {
			all = append(all, "-"+name+"="+f.Value.String())
		}
	}
	return all
}
