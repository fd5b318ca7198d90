// Package fleet does the same to many clusters, in waves. A wave begins when the wave before it is over, and after a
// failure no other cluster is begun.
//
// Read run.go first. All clusters are found and checked before anything is written. Package wave decides which clusters
// a wave has, and package drive drives each of them.
package fleet

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/contexts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/wave"
)

// Options are the flags that choose clusters, and say in which waves.
type Options struct {
	All bool
	// Name is that of a cluster, all of whose database is chosen. It goes with contexts, and not with All.
	Name string
	target.Found
	contexts contexts.Flag
	waves    string
	sizes    []wave.Size
	parallel int
	stop     bool // after a failure no other cluster is begun

	flags flags.Table
}

const (
	// defaultWaves: what is wrong with a version for each cluster is seen in one.
	defaultWaves    = "1,100%"
	defaultParallel = 8
)

// Bind adds the flags to a command. Does says what the command does, e.g. "upgrade".
func (o *Options) Bind(cmd *cobra.Command, f *factory.Factory, does string) {
	o.flags = flags.Table{
		{Name: "all", Add: flags.Bool(&o.All, false),
			Usage: "Without NAME: " + does + " all clusters of the namespace, or those that -l, -A and --contexts say, in waves."},
		{Name: "selector", Short: "l", Needs: "all", Add: flags.Text(&o.Selector, ""),
			Usage: does + " only the clusters whose TidbClusters have these labels, e.g. env=prod,tier!=test."},
		{Name: "all-namespaces", Short: "A", Needs: "all", Add: flags.Bool(&o.AllNamespaces, false),
			Usage: does + " the clusters of all namespaces."},
		o.contextsFlag(f, "With --all, "+does+" the clusters, and with NAME all parts of that cluster,"),
		{Name: "wave", Needs: "all", Add: flags.Text(&o.waves, defaultWaves), Values: []string{defaultWaves, "1,10%,100%", "100%"},
			Usage: "how many clusters are done after each wave, as numbers or percentages of the clusters that have something to do."},
		{Name: "parallel", Needs: "all", Add: flags.Int(&o.parallel, defaultParallel),
			Usage: "how many clusters of a wave are driven at the same time."},
		{Name: "stop-on-failure", Needs: "all", Add: flags.Bool(&o.stop, true),
			Usage: "begin no other cluster after one has failed. Those that were begun are driven to their end."},
	}
	o.flags.Bind(cmd)
}

// BindParts adds the only flag of a command that always names a cluster. The flag chooses all parts of its database.
func (o *Options) BindParts(cmd *cobra.Command, f *factory.Factory, does string) {
	o.waves, o.parallel, o.stop = defaultWaves, defaultParallel, true
	o.flags = flags.Table{o.contextsFlag(f, does+" all parts of the cluster,")}
	o.flags.Bind(cmd)
}

func (o *Options) contextsFlag(f *factory.Factory, does string) flags.Flag {
	return flags.Flag{Name: "contexts", Add: func(cmd *cobra.Command, _ flags.Flag) { o.contexts.Bind(cmd, f, does) }}
}

// Chosen reports whether the flags choose clusters. Otherwise the command is for the one cluster that it names.
func (o *Options) Chosen() bool { return o.All || o.contexts.Given() }

// Check refuses flags that need --all, where --all was not given.
func (o *Options) Check(set *pflag.FlagSet) error { return o.flags.Check(set) }

// ValidateParts checks the flag of a command for the cluster of a name.
func (o *Options) ValidateParts(set *pflag.FlagSet, d flags.Options, name string) error {
	if !o.Chosen() {
		return nil
	}
	o.Name = name
	return o.Validate(set, d)
}

// ValidateContexts checks the flag of a command that drives no cluster.
func (o *Options) ValidateContexts(set *pflag.FlagSet) error { return o.contexts.Validate(set) }

// Validate checks what is known from the flags alone, and reads the waves.
func (o *Options) Validate(set *pflag.FlagSet, d flags.Options) (err error) {
	by := "--all"
	if !o.All {
		by = "--contexts"
	}
	switch {
	case set.Changed("expect-uid"): // that of one cluster
		return exit.Usagef("%s does not go with --expect-uid: leave out one of them", by)
	case o.All && set.Changed("canary"): // it would end each run before its cluster is done
		return exit.Usagef("--all does not go with --canary: leave out one of them")
	case !d.Wait:
		return exit.Usagef("%s waits for the end of all clusters, so it does not go with --wait=false", by)
	case o.parallel < 1:
		return exit.Usagef("--parallel has to be at least 1")
	}
	if o.sizes, err = wave.Parse(o.waves); err != nil {
		return exit.Usagef("--wave %q: %w; a value that works is %s", o.waves, err, defaultWaves)
	}
	if err := o.Found.Validate(); err != nil {
		return err
	}
	return o.contexts.Validate(set)
}

// split returns the waves, each with units of clusters. Clusters that have nothing to do are in none.
func (o *Options) split(units [][]*cluster) ([][][]*cluster, error) {
	var busy [][]*cluster
	for _, u := range units {
		if u = slices.DeleteFunc(slices.Clone(u), func(c *cluster) bool { return c.idle }); len(u) > 0 {
			busy = append(busy, u)
		}
	}
	waves, left := wave.Split(o.sizes, busy)
	if left > 0 {
		return nil, exit.Usagef("--wave %q leaves out %d of the clusters that have something to do, so nothing was changed; let the last wave be 100%%", o.waves, left)
	}
	return waves, nil
}
