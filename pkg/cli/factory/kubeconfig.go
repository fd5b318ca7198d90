package factory

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// nowhere is the server that the libraries make up when nothing names one.
const nowhere = "http://localhost:8080"

func (f *Factory) load() (*rest.Config, error) {
	c, err := f.Flags.ToRESTConfig()
	switch {
	case err != nil:
		return nil, f.unusable(err)
	case c.Host == nowhere && *f.Flags.APIServer == "" && f.Env("KUBERNETES_MASTER") == "":
		if err := f.unnamed(); err != nil {
			return nil, err
		}
	}
	c.UserAgent = "kubectl-tidb/" + f.Version
	// Reads come in bursts of a few lists at a time; with the default limit of
	// five a second a driving command would wait for itself.
	c.QPS, c.Burst = 50, 100
	// Warnings about API versions are for whoever writes manifests; in between
	// the lines of a live screen they only garble it.
	c.WarningHandler = rest.NoWarnings{}
	c.Wrap(f.Clock.Listen)
	if c.Timeout == 0 {
		answered := new(atomic.Bool)
		c.Wrap(func(next http.RoundTripper) http.RoundTripper { return patient{next, firstAnswer, answered} })
	}
	return c, nil
}

// unusable says why a kubeconfig cannot be used.
func (f *Factory) unusable(err error) error {
	raw, unread := f.Flags.ToRawKubeConfigLoader().RawConfig()
	name := *f.Flags.Context
	if _, known := raw.Contexts[name]; name != "" && !known && unread == nil {
		return exit.Usagef("the kubeconfig has no context %q%s", name, f.contexts("; it has "))
	}
	return fmt.Errorf("load kubeconfig: %w", err)
}

// unnamed says why no API server is named, unless the kubeconfig does name the
// one that would be made up.
func (f *Factory) unnamed() error {
	raw, err := f.Flags.ToRawKubeConfigLoader().RawConfig()
	switch {
	case err != nil:
		return f.unusable(err)
	case len(raw.Contexts) == 0 && len(raw.Clusters) == 0:
		return errors.New("there is no kubeconfig, so no Kubernetes cluster to talk to: " +
			"set KUBECONFIG or give --kubeconfig, as for kubectl")
	case f.Context() == "":
		return fmt.Errorf("the kubeconfig has no current context: give one with --context%s", f.contexts("; there are "))
	}
	return nil
}

// contexts lists the kubeconfig's contexts, "" when there are none.
func (f *Factory) contexts(introduction string) string {
	raw, err := f.Flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil || len(raw.Contexts) == 0 {
		return ""
	}
	return introduction + strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", ")
}

// Namespace is the one the user means, by flag or kubeconfig.
func (f *Factory) Namespace() (string, error) {
	ns, _, err := f.Flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", f.unusable(err)
	}
	return ns, nil
}

// Context names the kubeconfig's context in use.
func (f *Factory) Context() string {
	if c := *f.Flags.Context; c != "" {
		return c
	}
	raw, err := f.Flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return ""
	}
	return raw.CurrentContext
}
