//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/build"
	"github.com/kubectl-tidb/kubectl-tidb/test/node/cluster"
	"github.com/kubectl-tidb/kubectl-tidb/test/node/debian"
	"github.com/kubectl-tidb/kubectl-tidb/test/node/image"
)

func up(ctx context.Context, layout cluster.Layout, arguments []string) error {
	wanted, err := parseUp(arguments)
	if err != nil {
		return err
	}
	return bringUp(ctx, layout, wanted)
}

// api brings up the API server alone, with programs of which it uses few.
func api(ctx context.Context, layout cluster.Layout) error {
	return bringUp(ctx, layout, wish{parts: build.Parts(), alone: true})
}

func images(ctx context.Context, arguments []string) error {
	wanted, err := parseUp(arguments)
	if err != nil {
		return err
	}
	_, _, err = prepare(ctx, wanted)
	return err
}

// wish is what the node is to have.
type wish struct {
	// parts are compiled; others are taken if that was done before.
	parts, others []build.Part
	// hosts is 0 for as many as there are.
	hosts int
	alone bool
}

func parseUp(arguments []string) (wish, error) {
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	hosts := flags.Int("hosts", 0, "how many hosts there are to be; as many as there are, and at least one, without it")
	parts := flags.String("parts", "all", "what is built: all, or demo, which is PD, TiKV and TiDB")
	if err := flags.Parse(arguments); err != nil {
		return wish{}, err
	}
	if flags.NArg() > 0 {
		return wish{}, fmt.Errorf("up knows nothing of %q; hosts are added by: go run . up -hosts 3", flags.Arg(0))
	}
	if *hosts < 0 || *hosts > cluster.MaxHosts {
		return wish{}, fmt.Errorf("there can be 1 to %d hosts, not %d", cluster.MaxHosts, *hosts)
	}
	chosen, others, err := build.Chosen(*parts)
	return wish{parts: chosen, others: others, hosts: *hosts}, err
}

func bringUp(ctx context.Context, layout cluster.Layout, wanted wish) error {
	if err := checkMachine(); err != nil {
		return err
	}
	unlock, err := layout.Lock(0)
	if err != nil {
		return err
	}
	defer unlock()
	programs, archive, err := prepare(ctx, wanted)
	if err != nil {
		return err
	}
	node, err := cluster.Open(layout, os.Stderr)
	if err != nil {
		return err
	}
	node.Programs, node.Images, node.Alone, node.Hosts = programs, archive, wanted.alone, wanted.hosts
	if err := node.Up(ctx); err != nil {
		return err
	}
	printEnvironment(layout)
	return nil
}

// prepare builds everything that takes long.
func prepare(ctx context.Context, wanted wish) (build.Set, string, error) {
	if err := checkMachine(); err != nil {
		return nil, "", err
	}
	if err := debian.Ensure(ctx, os.Stderr); err != nil {
		return nil, "", err
	}
	sources, err := partsFolder()
	if err != nil {
		return nil, "", err
	}
	cache, err := build.CacheFolder()
	if err != nil {
		return nil, "", err
	}
	builder := build.Builder{Sources: sources, Cache: cache, Progress: os.Stderr}
	programs, err := builder.All(ctx, wanted.parts, wanted.others...)
	if err != nil {
		return nil, "", err
	}
	archive, err := image.Archive(programs, cache, os.Stderr)
	return programs, archive, err
}

// partsFolder finds the modules to build: they belong to the folder that this program is run in.
func partsFolder() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the folder of the parts: %w", err)
	}
	parts := filepath.Join(here, "parts")
	if _, err := os.Stat(filepath.Join(parts, "kubernetes", "go.mod")); err != nil {
		return "", fmt.Errorf("run this in the folder test/node of the repository: %w", err)
	}
	return parts, nil
}

func checkMachine() error {
	if runtime.GOARCH != "amd64" {
		return fmt.Errorf("the node runs on 64-bit x86 only, this is %s", runtime.GOARCH)
	}
	if os.Geteuid() != 0 {
		return errors.New("the node needs root, for network namespaces, mounts and control groups; run it with sudo")
	}
	return nil
}
