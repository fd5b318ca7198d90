// Command manyclusters measures a daemon that looks after many clusters: what it costs
// when nothing happens, and how soon it reacts when users change what they want.
//
//	go run ./test/manyclusters -clusters 1000
//
// The API server is the local node's, alone ("go run . api" in test/node): this
// program makes the pods of StatefulSets, says that they are Ready, and answers
// for PD, TiKV and TiDB of all clusters. The daemon is a process of its own, the
// one of "kubectl tidb sync --watch" but for the way to those.
package main

import (
	"context"
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
	clusters   int
	rate       int
	changes    time.Duration
	idle       time.Duration
	backend    string // the child's: where PD, TiKV and TiDB are
	listen     string
}

func main() {
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "of the local node")
	flag.StringVar(&o.namespace, "namespace", "manyclusters", "is created, and not deleted at the end")
	flag.IntVar(&o.clusters, "clusters", 1000, "how many, of 3 PD, 3 TiKV and 2 TiDB each")
	flag.IntVar(&o.rate, "rate", 20, "changes per second")
	flag.DurationVar(&o.changes, "changes", 50*time.Second, "how long clusters are changed")
	flag.DurationVar(&o.idle, "idle", 2*time.Minute, "how long nothing happens")
	flag.StringVar(&o.backend, "backend", "", "run the daemon, with PD, TiKV and TiDB at this address")
	flag.StringVar(&o.listen, "listen", "127.0.0.1:18089", "the daemon's address")
	flag.Parse()
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
