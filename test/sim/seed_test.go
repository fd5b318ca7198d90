package sim

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	seeds  = flag.Int("seeds", 500, "how many random runs to do")
	first  = flag.Uint64("seed", 1, "the first one; 0 takes it from the clock")
	trace  = flag.Bool("transcript", false, "print the transcript of each seed")
	enough = flag.Int("enough", 50, "stop when so many seeds have failed, 0 for never")
)

// memory256 is how much memory runs may take before garbage is collected.
const memory256 = 256 << 20

// TestSeeds does random runs, on all processors. It prints the seeds that fail, and the command
// that repeats each; what a seed shows belongs into a scenario of its own. After an interrupt it
// prints what was found until then.
func TestSeeds(t *testing.T) {
	if *first == 0 {
		*first = uint64(time.Now().UnixMilli())
	}
	t.Logf("the first seed is %d; to repeat this run: make sim SEEDS=%d SEED=%d", *first, *seeds, *first)
	r := runSeeds(t, *seeds, Seed)
	r.report(t, "TestSeeds", Seed)
}

// results are those of all runs.
type results struct {
	mu        sync.Mutex
	lived     int
	simulated int64
	soft      Soft
	rules     map[string][]uint64 // the seeds that broke each rule
	failed    map[uint64]bool
	took      time.Duration
}

func runSeeds(t *testing.T, seeds int, run func(seed uint64, trace bool) *Model) *results {
	// Little of what a run allocates stays in use, so garbage is collected only when there is much of it.
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memory256))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	r := &results{rules: map[string][]uint64{}, failed: map[uint64]bool{}}
	var stop atomic.Bool
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	progress := time.NewTicker(10 * time.Second)
	defer progress.Stop()
	done := make(chan struct{})
	begun := time.Now()

	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(seeds) && !stop.Load(); i = next.Add(1) - 1 {
				if r.add(run(*first+uint64(i), *trace)) {
					stop.Store(true)
				}
			}
		})
	}
	go func() {
		workers.Wait()
		close(done)
	}()
	for {
		select {
		case <-interrupts:
			stop.Store(true)
		case <-progress.C:
			t.Log(r.line(time.Since(begun)))
		case <-done:
			r.took = time.Since(begun)
			return r
		}
	}
}

// add counts a run, and reports whether enough runs have failed.
func (r *results) add(w *Model) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lived++
	r.simulated += w.t
	r.soft.add(w.Soft)
	if *trace {
		fmt.Println(w.Transcript())
	}
	for _, v := range w.Broken {
		r.failed[w.Seed] = true
		if !slices.Contains(r.rules[v.Rule], w.Seed) {
			r.rules[v.Rule] = append(r.rules[v.Rule], w.Seed)
		}
	}
	return *enough > 0 && len(r.failed) >= *enough
}

func (r *results) line(took time.Duration) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := fmt.Sprintf("%d of %d seeds in %s, %.0f per second on %d processors, %.0f simulated hours, %d failed",
		r.lived, *seeds, took.Round(time.Second/10), float64(r.lived)/took.Seconds(), runtime.GOMAXPROCS(0),
		float64(r.simulated)/3600, len(r.failed))
	if failed := slices.Sorted(maps.Keys(r.failed)); len(failed) > 0 {
		text += fmt.Sprintf(", e.g. %v", failed[:min(8, len(failed))])
	}
	return text
}

func (r *results) report(t *testing.T, test string, run func(seed uint64, trace bool) *Model) {
	t.Log(r.line(r.took))
	t.Logf("soft: %+v", r.soft)
	var names []string
	for rule := range r.rules {
		names = append(names, rule)
	}
	sort.Strings(names)
	for _, rule := range names {
		found := r.rules[rule]
		slices.Sort(found)
		t.Errorf("%s: %d seeds, e.g. %v", rule, len(found), found[:min(8, len(found))])
	}
	var failed []uint64
	for seed := range r.failed {
		failed = append(failed, seed)
	}
	slices.Sort(failed)
	for _, seed := range failed[:min(20, len(failed))] {
		t.Logf("replay: go test ./test/sim -run %s -count=1 -v -seeds 1 -transcript -seed %d", test, seed)
	}
	if len(failed) > 0 && !*trace {
		w := run(failed[0], true)
		lines := strings.Split(w.Transcript(), "\n")
		t.Logf("the transcript of seed %d ends with:\n%s", w.Seed, strings.Join(lines[max(0, len(lines)-60):], "\n"))
	}
}

func (s *Soft) add(o Soft) {
	s.Steps += o.Steps
	s.Restarts += o.Restarts
	s.Together += o.Together
	s.WithLeaders += o.WithLeaders
	s.LeaderMoves += o.LeaderMoves
	s.LeaderMovesOver += max(0, o.LeaderMoves-o.LeadersTaken)
	s.LeadersTaken += o.LeadersTaken
	s.LeadersKilled += o.LeadersKilled
	s.VotersRushed += o.VotersRushed
	s.Needless += o.Needless
	s.HealedMeanwhile += o.HealedMeanwhile
	s.Failovers += o.Failovers
	s.TooLate += o.TooLate
}
