package factory

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// serviceAccount is the token that client-go uses in a pod when there is no kubeconfig.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/token"

// way is the flag --dial: how members are reached.
type way string

const (
	auto        way = "auto"
	direct      way = "direct"
	portForward way = "port-forward"
)

var ways = []string{string(auto), string(direct), string(portForward)}

// BindDial adds the flag --dial to a command and the commands below it.
func (f *Factory) BindDial(cmd *cobra.Command) {
	cmd.PersistentFlags().Var(&f.dial, "dial", "How to reach members: direct connects to the addresses of their pods, "+
		"port-forward goes through the API server, auto is direct in a pod of the cluster that has no kubeconfig.")
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("dial", cobra.FixedCompletions(ways, cobra.ShellCompDirectiveNoFileComp))
}

// Dialer returns the dialer for members. Its caller closes it.
func (f *Factory) Dialer() (dial.Dialer, error) {
	config, err := f.config()
	if err != nil {
		return nil, err
	}
	if f.Direct(config) {
		return dial.NewDirect(config)
	}
	return dial.NewPods(config)
}

// Direct reports whether pods are reached without the API server.
func (f *Factory) Direct(config *rest.Config) bool {
	return f.dial == direct || f.dial == auto && inCluster(config)
}

// inCluster reports whether this is a pod that talks to the cluster it runs in. A
// pod with a kubeconfig may talk to any other.
func inCluster(config *rest.Config) bool { return config.BearerTokenFile == serviceAccount }

// Set implements pflag.Value.
func (w *way) Set(s string) error {
	if !slices.Contains(ways, s) {
		return errors.New("it has to be one of " + strings.Join(ways, ", "))
	}
	*w = way(s)
	return nil
}

// String implements pflag.Value.
func (w *way) String() string { return string(*w) }

// Type implements pflag.Value.
func (w *way) Type() string { return "way" }
