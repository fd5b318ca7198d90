package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// Verdict is what became of a mutant.
type Verdict int

// A mutant is killed by a test, by hanging, or by eating all memory it is given.
const (
	Survived Verdict = iota
	Killed
	NotCompiling
)

// deciding are the packages that mutants are made of: the core, and those at the
// edge that decide something, such as what counts as evidence, and who drives.
var deciding = []string{"pkg/core/facts", "pkg/core/step", "pkg/core/upkeep", "pkg/core/plan", "pkg/core/component", "pkg/core/placement", "pkg/core/state", "pkg/edge/observe", "pkg/edge/lease"}

// suite is the tests of a package.
type suite struct {
	of   string   // the package
	args []string // of its tests
	cpu  time.Duration
	uses map[string]bool // packages whose code its tests can reach
}

// suites are what judges a mutant: the tables, and then the simulation, with enough
// random runs to be worth the time, which end with the first that fails. Without
// seeds there is no simulation: more mutants survive, in a fraction of the time.
func suites(seeds int) []suite {
	all := own(deciding)
	if seeds == 0 {
		return all
	}
	return append(all, suite{of: "test/sim", args: []string{"-seeds", strconv.Itoa(seeds), "-enough", "1"}})
}

// speaking are the packages that carry out what was decided and read answers: the simulation has its own versions of
// them, and only whole commands run them.
var speaking = []string{"pkg/edge/act", "pkg/edge/observe", "pkg/edge/lease", "pkg/edge/database/pd"}

// commands is the package whose tests run whole commands against a world in memory.
const commands = "test/wire"

// wire is what judges a mutant of these packages: their own tests, and then whole commands. Those that compare runs
// with each other, random runs and daemons take too long. On virtual time a mutant can wait for ever without processor
// time, so that the tests have a time limit.
func wire() []suite {
	return append(own(speaking), suite{of: commands, args: []string{"-test.skip", "TestSeeds|TestRepeat|TestDaemons", "-test.timeout", "10m"}})
}

// own are the tests of packages.
func own(packages []string) []suite {
	var all []suite
	for _, p := range packages {
		all = append(all, suite{of: p})
	}
	return all
}

// Bench is where mutants are tested.
type Bench struct {
	Root   string // of the module
	Dir    string // for what is temporary
	Suites []suite
	Memory uint64 // bytes of address space for one test binary

	builder builder
	broken  map[int]bool
	self    string
}

// Build compiles the tests with all mutants, and runs them without any. They have
// to pass, else every mutant would seem to be killed.
func (b *Bench) Build(ctx context.Context, mutants []Mutant) (err error) {
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	b.builder = builder{root: b.Root, dir: b.Dir, mutants: map[int]Mutant{}}
	for i, m := range mutants {
		b.builder.mutants[i+1] = m
		b.builder.numbers = append(b.builder.numbers, i+1)
	}
	var packages []string
	for _, s := range b.Suites {
		packages = append(packages, s.of)
	}
	if b.broken, err = b.builder.build(ctx, packages); err != nil {
		return err
	}
	for i := range b.Suites {
		s := &b.Suites[i]
		c, out, err := b.run(ctx, *s, 0)
		if err != nil {
			return fmt.Errorf("the tests of %s fail without a mutant: %w\n%s", s.of, err, out)
		}
		s.cpu = c.UserTime() + c.SystemTime()
		if s.uses, err = b.builder.uses(ctx, s.of); err != nil {
			return err
		}
	}
	return nil
}

// Test runs the tests against one of the mutants, by its index: those of its own
// package first, since most mutants are killed by them, then all others that it can
// make a difference to.
func (b *Bench) Test(ctx context.Context, i int) (Verdict, error) {
	number := i + 1
	if b.broken[number] {
		return NotCompiling, nil
	}
	of := b.builder.mutants[number].Package()
	for _, own := range []bool{true, false} {
		for _, s := range b.Suites {
			if own != (s.of == of) || !own && !s.uses[of] {
				continue
			}
			_, out, err := b.run(ctx, s, number)
			var failed *exec.ExitError
			switch {
			case err == nil:
			case ctx.Err() != nil:
				return 0, ctx.Err()
			case errors.As(err, &failed):
				if s.of == commands {
					fmt.Fprintln(os.Stderr, "killed by whole commands alone:", b.builder.mutants[number].Key)
				}
				return Killed, nil
			default:
				return 0, fmt.Errorf("%w\n%s", err, out)
			}
		}
	}
	return Survived, nil
}

// run is one test binary. A mutant that hangs is given some times the processor
// time that the original takes, which a busy machine does not make shorter. The
// other limit is for one that sleeps.
func (b *Bench) run(ctx context.Context, s suite, number int) (*os.ProcessState, string, error) {
	seconds, most := int64(2+10*s.cpu.Seconds()), time.Minute+100*s.cpu
	if s.cpu == 0 { // it has not run yet
		seconds, most = 300, 10*time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	args := append([]string{
		"confine", strconv.FormatUint(b.Memory, 10), strconv.FormatInt(seconds, 10),
		b.builder.binary(s.of), "-test.failfast", "-test.timeout", most.String(),
	}, s.args...)
	c := exec.CommandContext(ctx, b.self, args...)
	c.Dir = filepath.Join(b.Root, s.of)
	c.Env = append(os.Environ(), "GOMAXPROCS=1", force+"="+strconv.Itoa(number))
	c.WaitDelay = 5 * time.Second
	out, err := c.CombinedOutput()
	return c.ProcessState, string(out), err
}
