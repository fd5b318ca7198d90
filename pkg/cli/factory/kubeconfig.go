package factory

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
)

// nowhere is the server that the libraries use when none is configured.
const nowhere = "http://localhost:8080"

func (f *Factory) load() (*rest.Config, error) {
	if err := f.inContext(); err != nil {
		return nil, err
	}
	c, err := f.Flags.ToRESTConfig()
	switch {
	case err != nil:
		return nil, f.unusable(err)
	case c.Host == nowhere && *f.Flags.APIServer == "" && f.Env("KUBERNETES_MASTER") == "":
		if err := f.unnamed(); err != nil {
			return nil, err
		}
	}
	c.Dial = f.Connect
	c.UserAgent = "kubectl-tidb/" + f.Version
	// Reads come in bursts of a few lists at a time. With the default limit of five requests a second a driving
	// command would be slow.
	c.QPS, c.Burst = 50, 100
	// Warnings about API versions are for authors of manifests, and would break a live screen.
	c.WarningHandler = rest.NoWarnings{}
	c.Wrap(f.Clock.Listen)
	c.Wrap(denial.Transport)
	c.Wrap(lease.Asking)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &genericclioptions.CommandHeaderRoundTripper{Delegate: next, Headers: f.headers}
	})
	limit := cmp.Or(f.limit, firstAnswer)
	switch {
	case c.Timeout > 0:
		limit = 0 // --request-timeout is the limit
	case f.limit > 0:
		c.Timeout = f.limit + time.Second // also for a server that begins to answer and stops
	}
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return patient{next, limit, f.limit > 0, f.answered} })
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return rewatching{next, f.answered} })
	return c, nil
}

// unusable returns why a kubeconfig cannot be used.
func (f *Factory) unusable(err error) error {
	raw, unread := f.Flags.ToRawKubeConfigLoader().RawConfig()
	name := *f.Flags.Context
	if _, known := raw.Contexts[name]; name != "" && !known && unread == nil {
		return exit.Usagef("the kubeconfig has no context %q%s", name, f.contexts("; it has "))
	}
	return fmt.Errorf("load kubeconfig: %w", err)
}

// unnamed returns why no API server is configured, unless the kubeconfig names the default one
// itself.
func (f *Factory) unnamed() error {
	raw, err := f.Flags.ToRawKubeConfigLoader().RawConfig()
	switch {
	case err != nil:
		return f.unusable(err)
	case len(raw.Contexts) == 0 && len(raw.Clusters) == 0:
		none := "there is no kubeconfig"
		if files := f.files(); len(files) > 0 {
			none = "no cluster is in the kubeconfig " + strings.Join(files, ", ")
		}
		return errors.New(none + ", so no Kubernetes cluster to talk to: set KUBECONFIG or give --kubeconfig, as for kubectl")
	case f.Context() == "":
		return fmt.Errorf("the kubeconfig has no current context: give one with --context%s", f.contexts("; there are "))
	}
	used := raw.Contexts[f.Context()]
	if used != nil && *f.Flags.ClusterName == "" && raw.Clusters[used.Cluster] == nil {
		return fmt.Errorf("the kubeconfig has no cluster %q, which its context %s names", used.Cluster, f.Context())
	}
	return nil
}

// files returns the files of the kubeconfig that exist.
func (f *Factory) files() []string {
	return slices.DeleteFunc(f.Flags.ToRawKubeConfigLoader().ConfigAccess().GetLoadingPrecedence(), func(file string) bool {
		_, err := os.Stat(file)
		return err != nil
	})
}

// contexts lists the kubeconfig's contexts, "" when there are none.
func (f *Factory) contexts(introduction string) string {
	raw, err := f.Flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil || len(raw.Contexts) == 0 {
		return ""
	}
	return introduction + strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", ")
}

// Namespace returns the namespace of the flag or the kubeconfig.
func (f *Factory) Namespace() (string, error) {
	ns, _, err := f.Flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", f.unusable(err)
	}
	return ns, nil
}

// Context returns the name of the kubeconfig's current context.
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
