// Package drive is what all driving verbs have in common. It checks the intent that the user proposes, writes the
// intent, and runs the engine until the cluster matches it. A verb adds only what it proposes.
package drive

import (
	"context"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/start"
)

// Session is a connection to one cluster, which need not exist.
type Session struct {
	Namespace, Name string
	start.Connections
	Observer *observe.Observer

	operators *lease.Operators
	reported  map[string]bool // what was reported about operators
}

// Open connects.
func Open(f *factory.Factory, namespace, name string) (*Session, error) {
	kube, err := f.Kube()
	if err != nil {
		return nil, err
	}
	client, err := f.Intent()
	if err != nil {
		return nil, err
	}
	dialer, err := f.Dialer()
	if err != nil {
		return nil, err
	}
	s := &Session{
		Namespace: namespace, Name: name,
		Connections: start.Connections{Kube: kube, Intent: client, Dialer: dialer, Now: f.Clock.Now},
		operators:   lease.NewOperators(kube), reported: map[string]bool{},
	}
	s.Observer = s.Connections.Observer(namespace, name)
	return s, nil
}

// Load reads the TidbCluster.
func (s *Session) Load(ctx context.Context) (*v1alpha1.TidbCluster, error) {
	return s.Intent.Load(ctx, s.Namespace, s.Name)
}

// Unrendered returns what is wanted of a cluster from its TidbCluster alone, for a cluster whose
// objects cannot be rendered.
func Unrendered(c topology.Cluster) desired.State {
	w := desired.State{Cluster: c}
	for _, g := range c.Groups {
		w.Groups = append(w.Groups, desired.Group{Group: g, Set: desired.Object{Drift: desired.Unrendered}})
	}
	return w
}

// Close ends the connections.
func (s *Session) Close() {
	s.Observer.Close()
	_ = s.Dialer.Close()
}
