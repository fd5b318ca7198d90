package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Set maps the names of parts to their binaries.
type Set map[string]string

// Builder compiles parts into a cache folder.
type Builder struct {
	// Sources is the folder that holds one module per part.
	Sources string
	// Cache is where binaries are kept.
	Cache string
	// Progress receives a line per step: a cold build takes minutes and must not look stuck.
	Progress io.Writer
}

const heartbeat = 20 * time.Second

// CacheFolder is where a user's builds are kept.
func CacheFolder() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the folder for cached builds (set HOME or XDG_CACHE_HOME): %w", err)
	}
	return filepath.Join(base, "kubectl-tidb", "node"), nil
}

// All returns a binary for every part, compiling those that are not cached. Of the optional parts it returns those that
// are cached.
func (b Builder) All(ctx context.Context, parts []Part, optional ...Part) (Set, error) {
	version, err := goVersion(ctx)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(b.Cache, 0o755); err != nil {
		return nil, fmt.Errorf("create the build cache: %w", err)
	}
	set, missing, err := b.cached(parts, version)
	if err != nil {
		return nil, err
	}
	spare, unused, err := b.cached(optional, version)
	if err != nil {
		return nil, err
	}
	for _, part := range unused {
		delete(spare, part.Name)
	}
	maps.Copy(set, spare)
	fmt.Fprint(b.Progress, announcement(missing, unused))
	for i, part := range missing {
		if err := b.one(ctx, part, set[part.Name], fmt.Sprintf("[%d/%d]", i+1, len(missing))); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// cached returns where the binaries of parts are, or will be, and which parts are not compiled yet.
func (b Builder) cached(parts []Part, version string) (set Set, missing []Part, err error) {
	set = Set{}
	for _, part := range parts {
		key, err := Key(part, filepath.Join(b.Sources, part.Module), version)
		if err != nil {
			return nil, nil, err
		}
		set[part.Name] = filepath.Join(b.Cache, part.Name+"-"+key)
		if _, err := os.Stat(set[part.Name]); errors.Is(err, os.ErrNotExist) {
			missing = append(missing, part)
		} else if err != nil {
			return nil, nil, fmt.Errorf("look up part %s in the build cache: %w", part.Name, err)
		}
	}
	return set, missing, nil
}

func goVersion(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH").Output()
	if err != nil {
		return "", fmt.Errorf("ask the Go toolchain for its version (is go on the PATH?): %w", err)
	}
	return strings.Join(strings.Fields(string(out)), " "), nil
}

func (p Part) arguments(output string) []string {
	arguments := []string{"build", "-trimpath", "-o", output, "-ldflags", p.LDFlags}
	if p.Tags != "" {
		arguments = append(arguments, "-tags", p.Tags)
	}
	return append(arguments, p.Package)
}

// one compiles a part. The result gets its final name only when it is complete, so that an interrupted build is never
// taken for a good one.
func (b Builder) one(ctx context.Context, part Part, target, label string) error {
	started := time.Now()
	fmt.Fprintf(b.Progress, "%s building %s\n", label, part.Name)
	stop := b.reportEvery(heartbeat, func() {
		fmt.Fprintf(b.Progress, "%s building %s, %s so far\n", label, part.Name, time.Since(started).Round(time.Second))
	})
	defer stop()

	unfinished := fmt.Sprintf("%s.unfinished-%d", target, os.Getpid())
	defer os.Remove(unfinished)
	arguments := part.arguments(unfinished)
	if len(part.Corrections) > 0 {
		folder, err := os.MkdirTemp("", "kubectl-tidb-node-")
		if err != nil {
			return fmt.Errorf("create a folder for corrected libraries: %w", err)
		}
		defer os.RemoveAll(folder)
		modFile, err := b.correctedModFile(ctx, part, folder)
		if err != nil {
			return fmt.Errorf("build part %s: %w", part.Name, err)
		}
		arguments = slices.Insert(arguments, 1, "-modfile", modFile)
	}
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = filepath.Join(b.Sources, part.Module)
	command.Env = environment()
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Run(); err != nil {
		return fmt.Errorf("build part %s in %s: %w\n%s", part.Name, command.Dir, err, lastLines(output.String(), 20))
	}
	if err := os.Rename(unfinished, target); err != nil {
		return fmt.Errorf("keep the build of part %s: %w", part.Name, err)
	}
	fmt.Fprintf(b.Progress, "%s built %s in %s\n", label, part.Name, time.Since(started).Round(time.Second))
	return nil
}

// environment keeps the caller's settings from changing which modules are used and so the meaning of a key.
func environment() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-buildvcs=false")
}

// reportEvery calls report until the returned function is called.
func (b Builder) reportEvery(interval time.Duration, report func()) func() {
	done := make(chan struct{})
	go func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				report()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

func lastLines(text string, count int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
