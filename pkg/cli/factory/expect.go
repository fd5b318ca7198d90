package factory

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// expected is what a command line takes for granted. A script that runs in a shell with another context, or
// after a cluster was deleted and made again, would change the wrong cluster.
type expected struct{ context, uid string }

// BindExpect adds the flags to a command and the commands below it.
func (f *Factory) BindExpect(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.expected.context, "expect-context", "", "Do nothing unless this is the context of the kubeconfig that is used.")
	flags.StringVar(&f.expected.uid, "expect-uid", "", "Do nothing unless the TidbCluster has this UID.")
}

// inContext returns an error if the context is not the one that the command line names.
func (f *Factory) inContext() error {
	if want, got := f.expected.context, f.Context(); want != "" && want != got {
		return exit.With(exit.Refused, fmt.Errorf("the context is %q, not %q as --expect-context says; nothing was done; to use that one: --context %s", got, want, want))
	}
	return nil
}

// Intent returns the client of TidbClusters. Without TidbCluster of the UID that the command line names it
// reads none.
func (f *Factory) Intent() (*intent.Client, error) {
	dyn, err := f.Dynamic()
	if err != nil {
		return nil, err
	}
	return intent.New(dyn).Expect(types.UID(f.expected.uid)), nil
}

// Within returns the factory for a cluster that a command makes as a part of its work. Nothing is done to a TidbCluster of
// another UID, where a UID is given. The flags of the command line are about the cluster of the user. Texts for the user go
// to stderr, because stdout is for the result of the command.
func (f *Factory) Within(uid types.UID) *Factory {
	other := *f
	other.expected.uid = string(uid)
	other.Streams.Out = f.Streams.ErrOut
	return &other
}
