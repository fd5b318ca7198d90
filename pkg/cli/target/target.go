// Package target finds the cluster that a command is meant for, and connects to it.
package target

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// Resolve finds namespace and name. The name may be left out where there is
// only one cluster it can mean.
func Resolve(ctx context.Context, f *factory.Factory, args []string) (namespace, name string, err error) {
	if namespace, err = f.Namespace(); err != nil {
		return "", "", err
	}
	if len(args) > 0 {
		return namespace, args[0], nil
	}
	// A cluster that cannot be decoded has a name, too.
	_, found, err := new(Found).List(ctx, f)
	if err != nil && len(found) == 0 {
		return "", "", err
	}
	name, err = only(namespace, found)
	return namespace, name, err
}

// only returns the name of the only cluster.
func only(namespace string, clusters []v1alpha1.TidbCluster) (string, error) {
	var names []string
	for _, tc := range clusters {
		names = append(names, tc.Name)
	}
	switch len(names) {
	case 0:
		return "", remedy.For(exit.Usagef("there is no TidbCluster in namespace %s", namespace),
			remedy.Run("give the namespace of one with -n", remedy.Plugin("", "list", "-A")),
			remedy.Run("make one", remedy.Plugin(namespace, "create", "NAME", "--version", "VERSION")))
	case 1:
		return names[0], nil
	}
	return "", exit.Usagef("namespace %s has several clusters, so name one: %s", namespace, strings.Join(names, ", "))
}

// Open connects to the cluster that the first argument names.
func Open(ctx context.Context, f *factory.Factory, args []string) (*Session, error) {
	namespace, name, err := Resolve(ctx, f, args)
	if err != nil {
		return nil, err
	}
	return Connect(f, namespace, name)
}

// Load connects to the cluster that the first argument names, and reads its TidbCluster. The caller
// closes the session.
func Load(ctx context.Context, f *factory.Factory, args []string) (*Session, *v1alpha1.TidbCluster, error) {
	s, err := Open(ctx, f, args)
	if err != nil {
		return nil, nil, err
	}
	tc, err := s.Load(ctx)
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	return s, tc, nil
}

// Cluster connects like Load, for a command that does not depend on configurations. A TidbCluster in which one is
// malformed is no error.
func Cluster(ctx context.Context, f *factory.Factory, args []string) (*Session, topology.Cluster, error) {
	namespace, name, err := Resolve(ctx, f, args)
	if err != nil {
		return nil, topology.Cluster{}, err
	}
	return cluster(ctx, f, namespace, name)
}

func cluster(ctx context.Context, f *factory.Factory, namespace, name string) (*Session, topology.Cluster, error) {
	s, err := Connect(f, namespace, name)
	if err != nil {
		return nil, topology.Cluster{}, err
	}
	tc, err := s.Load(ctx)
	if bad, ok := errors.AsType[*intent.MalformedError](err); ok {
		tc, err = bad.Cluster, nil
	}
	if err != nil {
		s.Close()
		return nil, topology.Cluster{}, err
	}
	return s, topology.New(tc), nil
}

// WithPD connects like Cluster, to the TidbCluster that has PD. For a part without PD that is another one than the first
// argument names, and stderr says so.
func WithPD(ctx context.Context, f *factory.Factory, args []string) (*Session, topology.Cluster, error) {
	s, c, err := Cluster(ctx, f, args)
	if err != nil || !c.UsesOtherPD() {
		return s, c, err
	}
	s.Close()
	s, other, err := cluster(ctx, f, c.Joined.Namespace, c.Joined.Name)
	if err != nil {
		return nil, other, fmt.Errorf("%s uses the PD of another cluster: %w", Title(c), err)
	}
	fmt.Fprintf(f.Streams.ErrOut, "%s uses the PD of %s\n", Title(c), Title(other))
	return s, other, nil
}
