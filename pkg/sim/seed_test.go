package sim

import (
	"flag"
	"fmt"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	seeds = flag.Int("seeds", 500, "how many random stories to live")
	first = flag.Uint64("seed", 1, "the first one")
	tell  = flag.Bool("tell", false, "print the story of each seed")
)

// TestSeeds lives random stories. A seed that fails is printed with its story;
// what it shows belongs into a scenario of its own.
func TestSeeds(t *testing.T) {
	worlds := make([]*World, *seeds)
	begun := time.Now()
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(*seeds); i = next.Add(1) - 1 {
				w := Seed(*first+uint64(i), *tell)
				worlds[i] = &World{Options: w.Options, Broken: w.Broken, Soft: w.Soft, t: w.t, story: w.story}
			}
		})
	}
	workers.Wait()
	took := time.Since(begun)

	rules := map[string][]uint64{}
	var soft Soft
	var simulated int64
	for _, w := range worlds {
		soft.add(w.Soft)
		simulated += w.t
		if *tell {
			fmt.Println(w.Transcript())
		}
		once := map[string]bool{}
		for _, v := range w.Broken {
			if !once[v.Rule] {
				once[v.Rule] = true
				rules[v.Rule] = append(rules[v.Rule], w.Seed)
			}
		}
	}
	t.Logf("%d seeds in %.1fs, %.0f per second and core, %.0f simulated hours",
		*seeds, took.Seconds(), float64(*seeds)/took.Seconds()/float64(runtime.GOMAXPROCS(0)), float64(simulated)/3600)
	t.Logf("soft: %+v", soft)
	report(t, rules)
}

func report(t *testing.T, rules map[string][]uint64) {
	var names []string
	for rule := range rules {
		names = append(names, rule)
	}
	sort.Strings(names)
	for _, rule := range names {
		t.Errorf("%s: %d seeds, e.g. %v", rule, len(rules[rule]), rules[rule][:min(8, len(rules[rule]))])
	}
	if len(names) > 0 && !*tell {
		w := Seed(rules[names[0]][0], true)
		lines := strings.Split(w.Transcript(), "\n")
		t.Logf("the story of seed %d:\n%s", w.Seed, strings.Join(lines[max(0, len(lines)-60):], "\n"))
	}
}

func (s *Soft) add(o Soft) {
	s.Steps += o.Steps
	s.Restarts += o.Restarts
	s.WithLeaders += o.WithLeaders
	s.LeaderMoves += o.LeaderMoves
	s.LeaderMovesOver += max(0, o.LeaderMoves-o.LeadersTaken)
	s.LeadersTaken += o.LeadersTaken
	s.LeadersKilled += o.LeadersKilled
	s.VotersRushed += o.VotersRushed
	s.Needless += o.Needless
	s.HealedMeanwhile += o.HealedMeanwhile
}
