package drive

import (
	"time"

	"github.com/spf13/cobra"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// Options are the flags that all driving verbs share.
type Options struct {
	Timeout  time.Duration
	Output   output.Format
	Reports  *output.Documents
	DryRun   DryRun
	ExitCode bool
	NoFollow bool
	// Wait is false if another process is to carry out what is written.
	Wait bool
	// FieldManager is the name under which the API server records the change of the TidbCluster.
	FieldManager string
	// Yes: do not ask, neither before a run nor before a service or data is taken away.
	Yes bool
	// TakeOver: drive although a tidb-operator seems to drive.
	TakeOver bool
	// Canary is the value of the flag of BindCanary, "" for none.
	Canary string
	// Eviction has the values of the flags of BindEviction and BindStop; zero for verbs without them.
	Eviction plan.Eviction
}

// Bind adds the flags to a command.
func (o *Options) Bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.DurationVar(&o.Timeout, "timeout", 0, "Stop waiting after this long, e.g. 30m, at a safe point; the same command then goes on. Zero waits for ever.")
	o.Output.Bind(cmd, "With json, one event per line on stdout rather than progress on stderr.")
	o.Reports = &output.Documents{}
	o.Reports.Bind(cmd, "Write to files what was done and waited for, e.g. junit=junit.xml,html=run.html, also if the command fails.")
	o.DryRun.Bind(cmd)
	flags.BoolVar(&o.ExitCode, "exit-code", false, "With --dry-run, exit with 10 when there is something to do.")
	flags.BoolVarP(&o.Yes, "yes", "y", false, "Do not ask: neither in a terminal, after what will be done is shown, nor before a service or data is taken away.")
	flags.BoolVar(&o.Wait, "wait", true, "Drive the cluster until it has converged. With --wait=false, leave that to a daemon or to another process that drives it, and end when that one begins.")
	flags.BoolVar(&o.NoFollow, "no-follow", false, "When another driver holds the cluster, exit with 8 rather than follow it.")
	flags.BoolVar(&o.TakeOver, "take-over", false, "Drive the cluster although a tidb-operator seems to. If that one is alive, each of the two undoes what the other does, "+
		"and pods are restarted by turns: stop it, or exclude the cluster by its -selector, before.")
}

// BindFieldManager adds the flag of verbs that change what is wanted.
func (o *Options) BindFieldManager(cmd *cobra.Command) {
	cmdutil.AddFieldManagerFlagVar(cmd, &o.FieldManager, intent.FieldManager)
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("field-manager", cobra.NoFileCompletions)
}

// Validate checks what is known from the flags alone.
func (o *Options) Validate() error {
	switch {
	case o.ExitCode && o.DryRun == NoDryRun:
		return exit.Usagef("--exit-code goes with --dry-run")
	case !o.Wait && (o.TakeOver || o.NoFollow || o.Eviction != plan.Eviction{}):
		return exit.Usagef("--wait=false leaves the cluster to another process, so it does not go with --take-over, --no-follow, --evict-timeout, --on-evict-timeout, --max-leader-moves and --stop-changefeeds")
	case o.Timeout < 0:
		return exit.Usagef("--timeout must not be negative")
	case o.Eviction.OnTimeout == plan.Persist && o.Eviction.Timeout > 0:
		return exit.Usagef("--on-evict-timeout=wait waits for ever, so it does not go with --evict-timeout")
	}
	return nil
}

// Stay refuses --wait=false for a request that only this process knows of: it is not written down.
func (o *Options) Stay(what string) error {
	if o.Wait {
		return nil
	}
	return exit.Usagef("%s writes nothing down that another process could do, so it does not go with --wait=false; "+
		"a daemon drives clusters in the background: kubectl tidb daemon manifest", what)
}
