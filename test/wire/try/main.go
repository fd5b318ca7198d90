// Command try runs a model of a Kubernetes cluster with a TiDB cluster, to practise commands on. It needs no root, no
// Linux and no build of PD.
//
//	go run ./test/wire/try                  # runs the model until Ctrl-C, and prints commands to paste
//	go run ./test/wire/try break host-1     # in another terminal
//	go run ./test/wire/try mend host-1
//	go run ./test/wire/try pass 10m         # lets ten minutes pass at once
//
// The model is sim.Model, which the simulation has too. Package test/wire/kubernetes shows its Kubernetes half in an
// API server in memory, package test/wire/database answers as PD, TiKV and TiDB. Here they are behind a port of
// 127.0.0.1, and a second of the model takes a second. The plugin reaches members as everywhere, by port-forwards of
// the API server. No rows are stored.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

const usage = `usage:
  try                 run the model until Ctrl-C
  try break NAME      break something of a model that runs
  try mend [NAME]     mend NAME, or all that is broken
  try pass DURATION   let time pass at once, such as 10m
flags before these words:
  -dir FOLDER         where the kubeconfig is (default: in the cache folder of the user)
  -speed N            how many seconds of the model pass in a second (default 1)
what can be broken:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "try:", err)
		os.Exit(1)
	}
}

// fastest is the highest speed. The plugin asks PD every half second, so that more makes nothing shorter.
const fastest = 20

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("try", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprint(out, usage)
		for _, f := range faults {
			fmt.Fprintf(out, "  %-8s %s\n", f.name, f.what)
		}
	}
	folder, speed := flags.String("dir", "", ""), flags.Int("speed", 1, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *speed < 1 || *speed > fastest {
		return fmt.Errorf("-speed: give a number from 1 to %d", fastest)
	}
	if *folder == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		*folder = filepath.Join(cache, "kubectl-tidb", "try")
	}
	if flags.NArg() > 0 {
		return ask(ctx, *folder, flags.Args(), out)
	}
	return start(ctx, *folder, *speed, out)
}
