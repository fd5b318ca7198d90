package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// builder compiles the tests with all mutants in them, through an overlay: the
// tree itself is never touched.
type builder struct {
	root    string         // of the module
	dir     string         // for what is generated
	mutants map[int]Mutant // by number, those that may compile
	numbers []int          // of mutants, in the order of the source
}

// build writes a test binary of each package to the directory. It gives back the
// numbers of mutants that do not compile: those the compiler complains of, until
// there are none.
func (b *builder) build(ctx context.Context, packages []string) (broken map[int]bool, err error) {
	broken = map[int]bool{}
	for _, n := range b.numbers {
		m := b.mutants[n]
		source, err := os.ReadFile(filepath.Join(b.root, m.File))
		if err != nil {
			return nil, err
		}
		broken[n] = !parses(m, source)
	}
	of := []string{}
	for _, n := range b.numbers {
		if p := "./" + b.mutants[n].Package(); len(of) == 0 || of[len(of)-1] != p {
			of = append(of, p)
		}
	}
	for {
		files, err := b.overlay(broken)
		if err != nil {
			return nil, err
		}
		out, err := b.run(ctx, append([]string{"build"}, of...)...)
		if err == nil {
			break
		}
		if more := blame(out, files, broken); more == 0 {
			return nil, fmt.Errorf("the code with all mutants does not compile, and no mutant is to blame: %w\n%s", err, out)
		}
	}
	for _, p := range packages {
		if out, err := b.run(ctx, "test", "-c", "-vet=off", "-o", b.binary(p), "./"+p); err != nil {
			return nil, fmt.Errorf("compile the tests of %s: %w\n%s", p, err, out)
		}
	}
	return broken, nil
}

// binary is the path of a package's tests.
func (b *builder) binary(of string) string {
	return filepath.Join(b.dir, strings.ReplaceAll(of, "/", "-")+".test")
}

// uses are the packages that a package's tests are compiled with, its own among
// them: only their mutants can make a difference to these tests.
func (b *builder) uses(ctx context.Context, of string) (map[string]bool, error) {
	out, err := b.run(ctx, "list", "-test", "-deps", "-f", "{{.Dir}}", "./"+of)
	if err != nil {
		return nil, fmt.Errorf("list what the tests of %s use: %w\n%s", of, err, out)
	}
	uses := map[string]bool{}
	for dir := range strings.Lines(out) {
		if p, err := filepath.Rel(b.root, strings.TrimSpace(dir)); err == nil {
			uses[filepath.ToSlash(p)] = true
		}
	}
	return uses, nil
}

// overlay writes the files with mutants in them, without those that are broken.
func (b *builder) overlay(broken map[int]bool) (map[string]woven, error) {
	in := map[string][]int{}
	for _, n := range b.numbers {
		if m := b.mutants[n]; !broken[n] {
			in[m.File] = append(in[m.File], n)
		}
	}
	files, replace := map[string]woven{}, map[string]string{}
	write := func(name string, source []byte) error {
		to := filepath.Join(b.dir, strings.ReplaceAll(name, "/", "-"))
		replace[filepath.Join(b.root, name)] = to
		return os.WriteFile(to, source, 0o600)
	}
	for name, numbers := range in {
		source, err := os.ReadFile(filepath.Join(b.root, name))
		if err != nil {
			return nil, err
		}
		files[name] = weave(source, b.mutants, numbers)
		if err := write(name, files[name].source); err != nil {
			return nil, err
		}
		of := path.Dir(name)
		if err := write(of+"/mutantinforce.go", forced(of)); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	return files, os.WriteFile(filepath.Join(b.dir, "overlay.json"), text, 0o600)
}

// complaint is a line of what the compiler says.
var complaint = regexp.MustCompile(`(?m)^(.+\.go):(\d+):\d+: `)

// blame adds the mutants that the compiler complains of, and counts them.
func blame(out string, files map[string]woven, broken map[int]bool) int {
	more := 0
	for _, c := range complaint.FindAllStringSubmatch(out, -1) {
		line, _ := strconv.Atoi(c[2])
		for name, w := range files {
			if at := filepath.ToSlash(c[1]); !strings.HasSuffix(at, name) && !strings.HasSuffix(at, strings.ReplaceAll(name, "/", "-")) {
				continue
			}
			if n, ok := w.mutantAt(line); ok && !broken[n] {
				broken[n] = true
				more++
			}
		}
	}
	return more
}

// run is a go command on the overlay. The compiler is to list every mistake, not
// only the first ten.
func (b *builder) run(ctx context.Context, args ...string) (string, error) {
	flags := []string{args[0], "-overlay", filepath.Join(b.dir, "overlay.json"), "-gcflags=./...=-e"}
	c := exec.CommandContext(ctx, "go", append(flags, args[1:]...)...)
	c.Dir = b.root
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // it ends what it has started
	c.WaitDelay = 10 * time.Second
	out, err := c.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return "", err
	}
	return string(out), err
}
