//go:build linux

// Command node brings up a real Kubernetes cluster of one or several hosts on this machine, with container images of
// PD, a TiKV-compatible store, TiDB and the other components, from Go modules and Debian packages only: no container
// engine and no registry.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/cluster"
)

const usage = `usage: go run . <command>, in the folder test/node

  up [-hosts N] [-parts demo]   build what is missing, then start the node; does nothing when it is up
  api     the same with nothing but the API server: no controllers, and nowhere to run pods
  down    stop the node and remove everything of it except cached builds
  images [-parts demo]   build the programs and images only
  outage  kill the API server and start it again, after TIME if that is given, as in 1m; pods run on
  env     print shell commands that select the node for kubectl

  load FILE             import an archive of container images
  crash NAMESPACE POD   kill the container of a pod, which gets no chance to tidy up

With several hosts, which are named node0, node1 and so on:

  hosts                  list them, and what is wrong with each
  crash HOST             end a host as a loss of power does; its disks stay. Of node0 the API server and DNS run on
  reboot HOST            the same, and start it again
  drain HOST [FLAG…]     kubectl drain, with the usual flags and those that are given
  cut HOST               interrupt the network between a host and everything else
  cut HOST from OTHER    only between it and another host
  cut HOST from others   only between it and the other hosts and their pods, not the API server and DNS
  cut HOST from api      only between it and the API server; DNS is still reached
  cut HOST from operator the API server connects to nothing on the host any more, which all else still does
  mend [HOST…]           take back the cuts, and start what has crashed; without a host, all of them

  join FOLDER            connect the network of the node with another state folder; its NODE_NETWORK has to differ
  part FOLDER            take that link away

The state folder is /var/lib/kubectl-tidb-node, or NODE_STATE. NODE_NETWORK, a number from 0 to 3, chooses addresses.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) error {
	layout, err := cluster.NewLayout()
	if err != nil {
		return err
	}
	if len(arguments) == 0 {
		arguments = []string{""}
	}
	name, operands := arguments[0], arguments[1:]
	command, known := commands[name]
	if !known {
		fmt.Fprint(os.Stderr, usage)
		return fmt.Errorf("there is no command %q", name)
	}
	if n := len(operands); n < command.least || (n > command.most && command.most != unlimited) {
		fmt.Fprint(os.Stderr, usage)
		return fmt.Errorf("%s works on something else: see above", name)
	}
	return command.do(ctx, layout, operands)
}
