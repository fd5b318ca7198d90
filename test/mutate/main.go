// Command mutate proves that the tests of what decides can fail. It changes the code
// in one small place at a time (a mutant), runs the tests against it, and lists
// the mutants that no test has noticed.
//
//	go run ./test/mutate
//	go run ./test/mutate -sample 200 -seed 1
//
// All mutants are compiled into the same test binaries, and an environment
// variable says which one is in force, so that each costs only its tests.
//
// A mutant that no test can distinguish from the original is explained in allowed.txt
// and counts no more. It exits with 1 when too few of the others are killed, and when
// an explanation names a mutant that is gone or that a test kills after all.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"time"
)

type options struct {
	sample   int
	seed     uint64
	parallel int
	least    float64
	allow    string
	seeds    int
	list     bool
	wire     bool
	only     *regexp.Regexp
}

func main() {
	if len(os.Args) > 4 && os.Args[1] == "confine" {
		fmt.Fprintln(os.Stderr, confine(os.Args[2:]))
		os.Exit(1)
	}
	o := options{only: regexp.MustCompile("")}
	flag.IntVar(&o.sample, "sample", 0, "how many mutants to test, 0 for all")
	flag.Uint64Var(&o.seed, "seed", 1, "picks the sample")
	flag.IntVar(&o.parallel, "parallel", 2, "how many mutants are tested at once")
	flag.Float64Var(&o.least, "least", 95, "percentage of mutants that have to be killed")
	flag.StringVar(&o.allow, "allow", "test/mutate/allowed.txt", "mutants that survive, with the reason")
	flag.IntVar(&o.seeds, "sim-seeds", 150, "random runs for a mutant that the other tests do not kill, 0 for no simulation")
	flag.BoolVar(&o.list, "list", false, "list the mutants and test none")
	flag.BoolVar(&o.wire, "wire", false, "mutants of what speaks to Kubernetes and PD, tested by whole commands as well")
	flag.Func("only", "test only mutants whose key matches this regular expression", func(text string) (err error) {
		o.only, err = regexp.Compile(text)
		return err
	})
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
	}
	if err != nil || !ok {
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (bool, error) {
	root, err := os.Getwd()
	if err != nil {
		return false, err
	}
	of, judges := deciding, suites(o.seeds)
	if o.wire {
		of, judges = speaking, wire()
	}
	all, err := Mutants(root, of)
	if err != nil {
		return false, err
	}
	allowed, err := Allow(o.allow)
	if err != nil {
		return false, err
	}
	var stale []string
	if !o.wire { // it has not all mutants that are explained
		stale = allowed.Stale(all)
	}
	chosen := choose(all, o)
	if o.list {
		for _, m := range chosen {
			fmt.Printf("%s:%d\t%s\n", m.File, m.Line, m.Key)
		}
		fmt.Printf("%d of %d mutants\n", len(chosen), len(all))
		list(os.Stdout, gone, stale)
		return len(stale) == 0, nil
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	b := &Bench{Root: root, Dir: dir, Suites: judges, Memory: 3 << 30}
	begun := time.Now()
	fmt.Fprintf(os.Stderr, "%d of %d mutants; compiling them\n", len(chosen), len(all))
	if err := b.Build(ctx, chosen); err != nil {
		return false, err
	}
	fmt.Fprintf(os.Stderr, "compiled in %s\n", time.Since(begun).Round(time.Second))
	verdicts, err := testAll(ctx, b, chosen, o.parallel)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(os.Stderr, "%s\n", time.Since(begun).Round(time.Second))
	return report(os.Stdout, result{chosen, verdicts, allowed, stale}, o.least), nil
}

// choose picks the sample, the same for the same seed, in the order of the source.
func choose(all []Mutant, o options) []Mutant {
	all = matching(all, o.only)
	if o.sample <= 0 || o.sample >= len(all) {
		return all
	}
	rng := rand.New(rand.NewPCG(o.seed, 0))
	picked := rng.Perm(len(all))[:o.sample]
	slices.Sort(picked)
	chosen := make([]Mutant, len(picked))
	for i, n := range picked {
		chosen[i] = all[n]
	}
	return chosen
}

// testAll tests mutants, some at once, and keeps their order.
func testAll(ctx context.Context, b *Bench, mutants []Mutant, parallel int) ([]Verdict, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	verdicts := make([]Verdict, len(mutants))
	next := make(chan int)
	var workers sync.WaitGroup
	for range max(1, parallel) {
		workers.Go(func() {
			for i := range next {
				v, err := b.Test(ctx, i)
				if err != nil {
					cancel(fmt.Errorf("%s: %w", mutants[i].Key, err))
					return
				}
				verdicts[i] = v
				if v == Survived {
					fmt.Fprintf(os.Stderr, "survived: %s:%d %s\n", mutants[i].File, mutants[i].Line, mutants[i].Key)
				}
			}
		})
	}
	for i := 0; i < len(mutants) && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
		if i%100 == 99 {
			fmt.Fprintf(os.Stderr, "%d of %d\n", i+1, len(mutants))
		}
	}
	close(next)
	workers.Wait()
	if ctx.Err() != nil {
		if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
			return nil, err
		}
		return nil, errors.New("interrupted")
	}
	return verdicts, nil
}
