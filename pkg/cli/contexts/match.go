package contexts

import (
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// namesOf returns the names of all contexts.
func namesOf(raw clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(raw.Contexts)) }

// match returns the names of the contexts that patterns name, each once, in alphabetical order.
func match(raw clientcmdapi.Config, patterns []string) ([]string, error) {
	var found []string
	for _, pattern := range patterns {
		matched, err := matching(raw, pattern)
		switch {
		case err != nil:
			return nil, exit.Usagef("--%s %q is not a pattern: %w", flagName, pattern, err)
		case len(matched) == 0 && len(raw.Contexts) == 0:
			return nil, exit.Usagef("--%s %q: the kubeconfig has no contexts; set KUBECONFIG or give --kubeconfig, as for kubectl", flagName, pattern)
		case len(matched) == 0:
			return nil, exit.Usagef("--%s: the kubeconfig has no context %q; it has %s", flagName, pattern, strings.Join(namesOf(raw), ", "))
		}
		found = append(found, matched...)
	}
	slices.Sort(found)
	found = slices.Compact(found)
	return found, distinct(raw, found)
}

// matching returns the contexts that one pattern names. A slash is a character as any other, as in the names of EKS.
func matching(raw clientcmdapi.Config, pattern string) ([]string, error) {
	if _, exact := raw.Contexts[pattern]; exact {
		return []string{pattern}, nil
	}
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	var found []string
	for _, name := range namesOf(raw) {
		is, err := path.Match(flat(pattern), flat(name))
		if err != nil {
			return nil, err
		}
		if is {
			found = append(found, name)
		}
	}
	return found, nil
}

// apiServer is what tells Kubernetes clusters apart: an address, who vouches for the server, and how it is reached.
type apiServer struct{ address, authority, name, proxy string }

// distinct refuses two contexts of the same Kubernetes cluster: what is in it would count twice.
func distinct(raw clientcmdapi.Config, names []string) error {
	seen := map[apiServer]string{}
	for _, name := range names {
		cluster := raw.Clusters[raw.Contexts[name].Cluster]
		if cluster == nil {
			continue // the context cannot be read, which is shown as the others are
		}
		s := apiServer{strings.TrimSuffix(cluster.Server, "/"), authorityOf(cluster), cluster.TLSServerName, cluster.ProxyURL}
		if other, twice := seen[s]; twice {
			return exit.Usagef("contexts %s and %s are of the same Kubernetes cluster, with the API server %s, so that each TiDB cluster in it would be there twice; "+
				"give a pattern, or names, without one of them", other, name, cluster.Server)
		}
		seen[s] = name
	}
	return nil
}

// authorityOf returns the certificates of the authority, whether they are in the kubeconfig or in a file.
func authorityOf(cluster *clientcmdapi.Cluster) string {
	if len(cluster.CertificateAuthorityData) > 0 || cluster.CertificateAuthority == "" {
		return string(cluster.CertificateAuthorityData)
	}
	data, err := os.ReadFile(cluster.CertificateAuthority)
	if err != nil {
		return cluster.CertificateAuthority
	}
	return string(data)
}
