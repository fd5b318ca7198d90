package flags

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
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
	// Force is the flag of BindForce: go on even when PD cannot be asked whether that is safe.
	Force bool
	// Canary is the value of the flag of BindCanary, "" for none.
	Canary string
	// Eviction has the values of the flags of BindEviction and BindStop; zero for verbs without them.
	Eviction plan.Eviction

	// Concurrency is the value of the flag of BindConcurrency; zero for verbs without it.
	Concurrency plan.Concurrency

	table Table          // the rows of all flags that the command has
	set   *pflag.FlagSet // the flags of the command line; nil for options that no command line has given
}

var (
	// leavesToOthers: another process carries out what was written. It does not know the flags of this one.
	leavesToOthers = &Setting{Flag: "wait", Value: "false", Does: "leaves the cluster to another process"}
	waitsForEver   = &Setting{Flag: "on-evict-timeout", Value: lapses[plan.Persist], Does: "waits for ever"}
)

// run is the table of flags that all driving verbs have.
func (o *Options) run() Table {
	return Table{
		{Name: "timeout", AtOnce: true, Add: Duration(&o.Timeout, 0),
			Usage: "Stop waiting after this long, e.g. 30m, at a safe point; the same command then goes on. Zero waits for ever."},
		{Name: "output", Daemon: true, AtOnce: true, Add: func(cmd *cobra.Command, f Flag) { o.Output.Bind(cmd, f.Usage) },
			Usage: "With json, one event per line on stdout rather than progress on stderr."},
		{Name: "report", Add: func(cmd *cobra.Command, f Flag) {
			o.Reports = &output.Documents{}
			o.Reports.Bind(cmd, f.Usage)
		}, Usage: "Write to files what was done and waited for, e.g. junit=junit.xml,html=run.html, also if the command fails."},
		{Name: "dry-run", AtOnce: true, Add: func(cmd *cobra.Command, _ Flag) { o.DryRun.Bind(cmd) }},
		{Name: "exit-code", AtOnce: true, Needs: "dry-run", Add: Bool(&o.ExitCode, false), Usage: "exit with 10 when there is something to do."},
		{Name: "yes", Short: "y", AtOnce: true, Add: Bool(&o.Yes, false),
			Usage: "Do not ask: neither in a terminal, after what will be done is shown, nor before a service or data is taken away."},
		{Name: "wait", Add: Bool(&o.Wait, true),
			Usage: "Drive the cluster until it has converged. With --wait=false, leave that to a daemon or to another process that drives it, and end when that one begins."},
		{Name: "take-over", Daemon: true, Not: []*Setting{leavesToOthers}, Add: Bool(&o.TakeOver, false),
			Usage: "Drive the cluster although a tidb-operator seems to. If that one is alive, each of the two undoes what the other does, " +
				"and pods are restarted by turns: stop it, or exclude the cluster by its -selector, before."},
		{Name: "no-follow", Not: []*Setting{leavesToOthers}, Add: Bool(&o.NoFollow, false),
			Usage: "When another driver holds the cluster, exit with 8 rather than follow it."},
	}
}

// eviction is the table of flags for verbs that take stores down, for a while or for good.
func (o *Options) eviction() Table {
	return Table{
		{Name: "evict-timeout", Daemon: true, Not: []*Setting{leavesToOthers, waitsForEver}, Add: Value((*span)(&o.Eviction.Timeout)),
			Usage: "How long region leaders may take to leave a store before it is restarted or removed, e.g. 10m. " +
				"The default for a restart is spec.tikv.evictLeaderTimeout, or without that no limit; for a removal 5m."},
		{Name: "on-evict-timeout", Daemon: true, Not: []*Setting{leavesToOthers}, Add: Value((*lapse)(&o.Eviction.OnTimeout)), Values: lapses[plan.Proceed:],
			Usage: "What to do then, or, without a limit, when no leader has left for 10 minutes: " +
				"proceed with the leaders that are left, fail with exit code 3 and let the store keep them, or wait for ever. The default is to proceed where there is a limit, else to fail."},
		{Name: "max-leader-moves", Daemon: true, Not: []*Setting{leavesToOthers}, Add: Value((*count)(&o.Eviction.MaxMoves)),
			Usage: "How many region leaders PD moves at a time while leaders leave stores and come back, in place of PD's leader-schedule-limit: " +
				"a few spare queries, many save time. PD goes back to its own limit two minutes after the run at the latest, also if the run is killed."},
	}
}

// concurrency is the table of the flag for verbs that restart members.
func (o *Options) concurrency() Table {
	return Table{{
		Name: "concurrency", Not: []*Setting{leavesToOthers}, Add: Value((*concurrency)(&o.Concurrency)), Values: []string{"1", "10", "25%"},
		Usage: "How many members of a component to restart at the same time, e.g. 10 or 25%. For TiKV: stores of one failure domain, " +
			"if PD keeps the copies of each region in different domains. For TiDB: at most half of the servers. Others restart one at a time. The first member restarts alone. The default is 1.",
	}}
}

// stop is the table of the flag for verbs that remove members.
func (o *Options) stop() Table {
	return Table{{
		Name: "stop-changefeeds", Daemon: true, Not: []*Setting{leavesToOthers}, Add: Bool(&o.Eviction.StopFeeds, false),
		Usage: "Remove the last capture of TiCDC although changefeeds run. They stop until there is one again, and fail if that takes longer than gc-ttl.",
	}}
}

// canary is the table of the flag for verbs whose rollout may stop after some members.
func (o *Options) canary() Table {
	var values []string
	for _, k := range topology.Kinds() {
		values = append(values, topology.Canary{Kind: k, Members: 1}.String())
	}
	return Table{{
		Name: "canary", Values: values, Add: Value((*canary)(&o.Canary)),
		Usage: "Stop after this many members of a component, e.g. tikv=1, or with 0 before the component, with exit code 6, until \"kubectl tidb promote\". " +
			"Components before it in the order of an upgrade are rolled out, later ones wait.",
	}}
}

// manager is the table of the flag for verbs that change what is wanted.
func (o *Options) manager() Table {
	return Table{{
		Name: "field-manager",
		Add: func(cmd *cobra.Command, _ Flag) {
			cmdutil.AddFieldManagerFlagVar(cmd, &o.FieldManager, intent.FieldManager)
		},
	}}
}

func (o *Options) bind(cmd *cobra.Command, t Table) {
	o.set = cmd.Flags()
	o.table = append(o.table, t...)
	t.Bind(cmd)
}

// Bind adds the flags to a command.
func (o *Options) Bind(cmd *cobra.Command) { o.bind(cmd, o.run()) }

// BindEviction adds the flags of verbs that take stores down for a while or for good. The flags say how long region
// leaders may take to leave a store, and what happens then.
func (o *Options) BindEviction(cmd *cobra.Command) { o.bind(cmd, o.eviction()) }

// BindConcurrency adds the flag of verbs that restart members: how many at the same time.
func (o *Options) BindConcurrency(cmd *cobra.Command) { o.bind(cmd, o.concurrency()) }

// BindStop adds the flag of verbs that remove members: whether changefeeds may stop with the last capture
// of TiCDC.
func (o *Options) BindStop(cmd *cobra.Command) { o.bind(cmd, o.stop()) }

// BindCanary adds the flag of verbs whose rollout may stop after some members.
func (o *Options) BindCanary(cmd *cobra.Command) { o.bind(cmd, o.canary()) }

// BindForce adds the flag of verbs that may go on without PD. What is what makes PD answer again.
func (o *Options) BindForce(cmd *cobra.Command, what string) {
	cmd.Flags().BoolVar(&o.Force, "force", false, "Go on although PD cannot be asked whether it is safe, because "+what+" is what makes PD answer again.")
}

// BindFieldManager adds the flag of verbs that change what is wanted.
func (o *Options) BindFieldManager(cmd *cobra.Command) { o.bind(cmd, o.manager()) }

// Validate checks what is known from the flags alone.
func (o *Options) Validate() error {
	if o.Timeout < 0 {
		return exit.Usagef("--timeout must not be negative")
	}
	return o.table.Check(o.set)
}

// ValidateDaemon refuses the flags that "sync --watch" has no use for.
func (o *Options) ValidateDaemon() error { return o.table.CheckDaemon(o.set) }

// ValidateAtOnce refuses the flags that a change without a run has no use for. The text says what such a change is.
func (o *Options) ValidateAtOnce(what string) error { return o.table.CheckAtOnce(o.set, what) }

// Stay refuses --wait=false for a request that only this process knows of: it is not written down.
func (o *Options) Stay(what string) error {
	if o.Wait {
		return nil
	}
	return exit.Usagef("%s writes nothing down that another process could do, so it does not go with --wait=false; "+
		"a daemon drives clusters in the background: kubectl tidb daemon manifest", what)
}
