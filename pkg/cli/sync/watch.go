package sync

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
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

func (w *watching) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&w.on, "watch", false, "Keep the clusters as their TidbClusters say until interrupted: all of the namespace, or those that NAME, -l or -A say.")
	flags.BoolVarP(&w.all, "all-namespaces", "A", false, "With --watch, the clusters of all namespaces.")
	flags.StringVarP(&w.selector, "selector", "l", "", "With --watch, the clusters whose TidbClusters have these labels, e.g. env=prod,tier!=test.")
	flags.StringVar(&w.shard, "shard", "", "With --watch, one part of the clusters, e.g. 0/3, 1/3 or 2/3. Other daemons have the other parts.")
	flags.BoolVar(&w.failover, "auto-failover", true, "With --watch, give up and replace members that are down for longer than their component's failover period.")
	flags.IntVar(&w.workers, "workers", 16, "With --watch, how many clusters are worked on at the same time.")
	flags.DurationVar(&w.poll, "poll", time.Minute, "With --watch, how often the members of a cluster are asked that has converged. Kubernetes reports changes by itself.")
	flags.DurationVar(&w.resync, "resync", 10*time.Hour, "With --watch, how often a cluster is read from the API server, and not from the copy that watches keep.")
	flags.StringVar(&w.listen, "listen", "", "With --watch, serve /metrics, /healthz and /readyz at this address, e.g. :8080.")
	flags.StringVar(&w.logFormat, "log-format", "text", "With --watch, the format of the log on stderr, text or json; -o json besides writes each event to stdout.")
	flags.BoolVar(&w.pprof, "pprof", false, "With --listen, serve /debug/pprof as well.")
	_ = cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions(logs.Formats(), cobra.ShellCompDirectiveNoFileComp))
	for _, f := range []string{"selector", "workers", "poll", "resync", "listen"} {
		// The only error is a flag that does not exist.
		_ = cmd.RegisterFlagCompletionFunc(f, cobra.NoFileCompletions)
	}
}

// mine are the flags that need --watch, and others those that cannot be used with it.
var (
	mine   = []string{"all-namespaces", "selector", "shard", "auto-failover", "workers", "poll", "resync", "listen", "pprof", "log-format"}
	others = []string{"timeout", "dry-run", "exit-code", "no-follow", "yes", "report", "wait", "expect-uid"}
)

// check checks what is known from the flags alone.
func (w *watching) check(changed func(flag string) bool, name []string) error {
	if err := w.together(changed); err != nil || !w.on {
		return err
	}
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
	case w.pprof && w.listen == "":
		return exit.Usagef("--pprof goes with --listen")
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

// together refuses flags that cannot be used together.
func (w *watching) together(changed func(flag string) bool) error {
	wrong, says := mine, "--%s goes with --watch"
	if w.on {
		wrong, says = others, "--%s does not go with --watch, which ends when it is interrupted"
	}
	for _, f := range wrong {
		if changed(f) {
			return exit.Usagef(says, f)
		}
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
