// Command manyclusters measures a daemon that looks after many clusters: what it costs
// when nothing happens, and how soon it reacts when users change what they want.
//
//	go run ./test/manyclusters -clusters 1000
//	go run ./test/manyclusters -memory -clusters 10000 -daemons 3
//
// The API server is the local node's, alone ("go run . api" in test/node), or with
// -memory one in this program, package memoryapi: this program makes the pods of
// StatefulSets, says that they are Ready, and answers for PD, TiKV and TiDB of all
// clusters. Each daemon is a process of its own, the one of "kubectl tidb sync
// --watch" but for the way to those; several share the clusters.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

type options struct {
	kubeconfig string
	namespace  string
	memory     bool
	clusters   int
	size
	daemons  int
	rate     int
	changes  time.Duration
	idle     time.Duration
	program  string
	commands bool
	backend  string // the child's: where PD, TiKV and TiDB are
	listen   string // the child's
	shard    string // the child's
}

func main() {
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "of the local node")
	flag.StringVar(&o.namespace, "namespace", "manyclusters", "is created, and not deleted at the end")
	flag.BoolVar(&o.memory, "memory", false, "use an API server in memory")
	flag.IntVar(&o.daemons, "daemons", 1, "how many daemons share the clusters")
	flag.StringVar(&o.program, "program", "", "measure this program's daemon, and not the one in this program; with -memory")
	flag.BoolVar(&o.commands, "commands", false, "measure commands of -program, and not its daemon")
	flag.IntVar(&o.clusters, "clusters", 1000, "how many")
	flag.IntVar(&o.pd, "pd", 3, "members of PD of each cluster")
	flag.IntVar(&o.tikv, "tikv", 3, "stores of each cluster")
	flag.IntVar(&o.tidb, "tidb", 2, "TiDB servers of each cluster")
	flag.IntVar(&o.rate, "rate", 20, "changes per second")
	flag.DurationVar(&o.changes, "changes", 50*time.Second, "how long clusters are changed")
	flag.DurationVar(&o.idle, "idle", 2*time.Minute, "how long nothing happens")
	flag.StringVar(&o.backend, "backend", "", "run the daemon, with PD, TiKV and TiDB at this address")
	flag.StringVar(&o.listen, "listen", "", "the daemon's address")
	flag.StringVar(&o.shard, "shard", "", "the daemon's part of the clusters")
	flag.Parse()
	if err := o.check(); err != nil {
		fmt.Fprintln(os.Stderr, "manyclusters:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := measure
	if o.backend != "" {
		run = runDaemon
	}
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "manyclusters:", err)
		stop()
		os.Exit(1)
	}
}

// check refuses flags that need others.
func (o options) check() error {
	switch {
	case o.commands && o.program == "":
		return errors.New("-commands measures a program: give -program")
	case o.program != "" && !o.memory:
		return errors.New("-program needs -memory, which counts its requests")
	}
	return nil
}

// clients are those of this program: as fast as the API server.
type clients struct {
	config *rest.Config
	kube   kubernetes.Interface
	dyn    dynamic.Interface
}

func connect(o options) (clients, error) {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return clients{}, err
	}
	config.QPS = -1
	c := clients{config: config}
	if c.dyn, err = dynamic.NewForConfig(config); err != nil {
		return c, err
	}
	typed := rest.CopyConfig(config)
	typed.ContentType, typed.AcceptContentTypes = protobuf, protobuf+",application/json"
	c.kube, err = kubernetes.NewForConfig(typed)
	return c, err
}

const protobuf = "application/vnd.kubernetes.protobuf"
