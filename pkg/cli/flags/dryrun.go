package flags

import (
	"errors"

	"github.com/spf13/cobra"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// DryRun is the flag --dry-run with kubectl's values. Without a value it means "server", since only
// the API server knows what it accepts; kubectl's own function takes that for "client".
type DryRun cmdutil.DryRunStrategy

// The values of DryRun.
const (
	NoDryRun     = DryRun(cmdutil.DryRunNone)
	ClientDryRun = DryRun(cmdutil.DryRunClient)
	ServerDryRun = DryRun(cmdutil.DryRunServer)
)

var dryRuns = map[DryRun]string{NoDryRun: "none", ClientDryRun: "client", ServerDryRun: "server"}

// Bind adds the flag to a command.
func (d *DryRun) Bind(cmd *cobra.Command) {
	cmd.Flags().Var(d, "dry-run", "Print what would be done, and change nothing: none, client or server. "+
		"With server, which is meant without a value, the API server checks the change as well; client only reads.")
	cmd.Flags().Lookup("dry-run").NoOptDefVal = dryRuns[ServerDryRun]
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions([]string{"none", "client", "server"}, cobra.ShellCompDirectiveNoFileComp))
}

// String implements pflag.Value.
func (d *DryRun) String() string { return dryRuns[*d] }

// Set implements pflag.Value.
func (d *DryRun) Set(value string) error {
	for strategy, name := range dryRuns {
		if name == value {
			*d = strategy
			return nil
		}
	}
	return errors.New(`must be "none", "client" or "server"`)
}

// Type implements pflag.Value.
func (d *DryRun) Type() string { return "strategy" }
