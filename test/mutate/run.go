package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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

// stage is a go test command. The quick ones come first.
type stage []string

// core are the packages that mutants are made of. Their own tests take no time.
var core = []string{"pkg/plan", "pkg/component", "pkg/state"}

// stages are the tests that judge a mutant of a package: its own first, since most
// mutants are killed by those, then the other tables, and then the simulation,
// with enough random stories to be worth the time.
func stages(of string, seeds int) []stage {
	own, others := stage{"./" + of}, stage{}
	for _, p := range core {
		if p != of {
			others = append(others, "./"+p)
		}
	}
	return []stage{own, others, {"./pkg/sim", "-seeds", strconv.Itoa(seeds)}}
}

// Bench is where mutants are tested.
type Bench struct {
	Root    string
	Dir     string // for what is temporary
	Cache   *Cache
	Seeds   int           // of the simulation
	Timeout time.Duration // of one stage
	Memory  uint64        // bytes of address space for one test binary
}

// Test runs the tests against one mutant, through an overlay: the tree itself
// is never touched.
func (b Bench) Test(ctx context.Context, m Mutant) (Verdict, error) {
	dir, err := os.MkdirTemp(b.Dir, "mutant")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	overlay, err := b.overlay(dir, m)
	if err != nil {
		return 0, err
	}
	b.Cache.Use()
	defer b.Cache.Done()
	for _, s := range stages(m.Package(), b.Seeds) {
		out, err := b.test(ctx, s, overlay)
		var failed *exec.ExitError
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
			return NotCompiling, nil
		case errors.As(err, &failed):
			return Killed, nil
		default:
			return 0, fmt.Errorf("%w\n%s", err, out)
		}
	}
	return Survived, nil
}

// Baseline runs the tests without a mutant. They have to pass, else every
// mutant would seem to be killed.
func (b Bench) Baseline(ctx context.Context) error {
	for _, s := range stages(core[0], b.Seeds) {
		if out, err := b.test(ctx, s, ""); err != nil {
			return fmt.Errorf("the tests fail without a mutant: go test %s: %w\n%s", strings.Join(s, " "), err, out)
		}
	}
	return nil
}

func (b Bench) overlay(dir string, m Mutant) (string, error) {
	original := filepath.Join(b.Root, m.File)
	source, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	mutated := filepath.Join(dir, "mutant.go")
	if err := os.WriteFile(mutated, m.Apply(source), 0o600); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{original: mutated}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}

// test is one go test. Its own timeout ends a mutant that hangs; that of the
// command is for a go command that does.
func (b Bench) test(ctx context.Context, s stage, overlay string) (string, error) {
	seconds := int(b.Timeout / time.Second)
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	args := []string{
		"test", "-count=1", "-failfast", "-vet=off", "-p=1", "-ldflags=-s -w", "-timeout", b.Timeout.String(),
		"-exec", fmt.Sprintf("%s confine %d %d", self, b.Memory, 2*seconds),
	}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	// Only for a build of everything, which is what the first one is.
	ctx, cancel := context.WithTimeout(ctx, 4*b.Timeout+10*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "go", append(args, s...)...)
	c.Dir = b.Root
	c.Env = append(os.Environ(), "GOCACHE="+b.Cache.Dir, "GOMAXPROCS=1")
	c.WaitDelay = 5 * time.Second
	group(c)
	out, err := c.CombinedOutput()
	return string(out), err
}
