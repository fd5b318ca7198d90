package sync

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/telemetry/logs"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/daemon"
)

// watching are the flags of --watch.
type watching struct {
	on, all, pprof, failover bool
	selector, listen, shard  string
	logFormat                string
	workers                  int
	poll, resync             time.Duration
}

// The shortest useful values: with shorter ones PD would have much load, or a mirror would be of no
// use.
const (
	leastPoll   = 5 * time.Second
	leastResync = time.Minute
)

// table has the flags of --watch.
func (w *watching) table() flags.Table {
	return flags.Table{
		{Name: "watch", Daemon: true, Add: flags.Bool(&w.on, false),
			Usage: "Keep the clusters as their TidbClusters say until interrupted: all of the namespace, or those that NAME, -l or -A say."},
		{Name: "all-namespaces", Short: "A", Needs: "watch", Daemon: true, Add: flags.Bool(&w.all, false),
			Usage: "the clusters of all namespaces."},
		{Name: "selector", Short: "l", Needs: "watch", Daemon: true, Add: flags.Text(&w.selector, ""),
			Usage: "the clusters whose TidbClusters have these labels, e.g. env=prod,tier!=test."},
		{Name: "shard", Needs: "watch", Daemon: true, Add: flags.Text(&w.shard, ""),
			Usage: "one part of the clusters, e.g. 0/3, 1/3 or 2/3. Other daemons have the other parts."},
		{Name: "auto-failover", Needs: "watch", Daemon: true, Add: flags.Bool(&w.failover, true),
			Usage: "give up and replace members that are down for longer than their component's failover period."},
		{Name: "workers", Needs: "watch", Daemon: true, Add: flags.Int(&w.workers, 16),
			Usage: "how many clusters are worked on at the same time."},
		{Name: "poll", Needs: "watch", Daemon: true, Add: flags.Duration(&w.poll, time.Minute),
			Usage: "how often the members of a cluster are asked that has converged. Kubernetes reports changes by itself."},
		{Name: "resync", Needs: "watch", Daemon: true, Add: flags.Duration(&w.resync, 10*time.Hour),
			Usage: "how often a cluster is read from the API server, and not from the copy that watches keep."},
		{Name: "listen", Needs: "watch", Daemon: true, Add: flags.Text(&w.listen, ""),
			Usage: "serve /metrics, /healthz and /readyz at this address, e.g. :8080."},
		{Name: "log-format", Needs: "watch", Daemon: true, Add: flags.Text(&w.logFormat, "text"), Values: logs.Formats(),
			Usage: "the format of the log on stderr, text or json; -o json besides writes each event to stdout."},
		{Name: "pprof", Needs: "listen", Daemon: true, Add: flags.Bool(&w.pprof, false),
			Usage: "serve /debug/pprof as well."},
	}
}

// check checks what is known from the flags alone.
func (w *watching) check(name []string) error {
	switch {
	case len(name) > 0 && w.all:
		return exit.Usagef("NAME is one cluster of a namespace, so it does not go with --all-namespaces")
	case len(name) > 0 && w.selector != "":
		return exit.Usagef("NAME is one cluster, so it does not go with --selector")
	case len(name) > 0 && w.shard != "":
		return exit.Usagef("NAME is one cluster, so it does not go with --shard")
	case w.workers < 1:
		return exit.Usagef("--workers has to be at least 1")
	case w.poll < leastPoll:
		return exit.Usagef("--poll has to be at least %s: each time costs PD several requests", leastPoll)
	case w.resync < leastResync:
		return exit.Usagef("--resync has to be at least %s", leastResync)
	}
	if !slices.Contains(logs.Formats(), w.logFormat) {
		return exit.Usagef("--log-format %q: it has to be one of %s", w.logFormat, strings.Join(logs.Formats(), ", "))
	}
	if _, err := labels.Parse(w.selector); err != nil {
		return exit.Usagef("--selector %q: %w", w.selector, err)
	}
	if _, err := daemon.ParseShard(w.shard); err != nil {
		return exit.Usagef("--shard: %w", err)
	}
	return nil
}

func (w *watching) scope(f *factory.Factory, name []string) (daemon.Scope, error) {
	var s daemon.Scope
	var err error
	if !w.all {
		if s.Namespace, err = f.Namespace(); err != nil {
			return s, err
		}
	}
	s.Name = strings.Join(name, "")
	if w.selector != "" {
		if s.Selector, err = labels.Parse(w.selector); err != nil {
			return s, err
		}
	}
	s.Shard, err = daemon.ParseShard(w.shard)
	return s, err
}
