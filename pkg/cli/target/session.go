package target

import (
	"context"
	"fmt"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/spin"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/start"
)

// Session is a connection to one cluster, which need not exist.
type Session struct {
	Namespace, Name string
	start.Connections
	Observer  *observe.Observer
	Operators *lease.Operators

	noticed map[string]bool // the texts of IsNew
}

// Connect opens a session.
func Connect(f *factory.Factory, namespace, name string) (*Session, error) {
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
		Namespace: namespace, Name: name, Operators: lease.NewOperators(kube),
		Connections: start.Connections{Kube: kube, Intent: client, Dialer: dialer, Now: f.Clock.Now},
	}
	s.Observer = s.Connections.Observer(namespace, name)
	return s, nil
}

// Load reads the TidbCluster.
func (s *Session) Load(ctx context.Context) (*v1alpha1.TidbCluster, error) {
	return s.Intent.Load(ctx, s.Namespace, s.Name)
}

// Printer returns what shows the events of a run.
func (s *Session) Printer(f *factory.Factory, format output.Format, action string) *report.Printer {
	opts := report.Detect(f.Streams.Out, f.Streams.ErrOut, format.String(), f.Env)
	opts.Context, opts.Namespace, opts.Cluster, opts.Action = f.Context(), s.Namespace, s.Name, action
	opts.Now = f.Clock.Now
	return report.New(opts)
}

// Progress returns what reports the events of a run. The action is in a user's words.
func (s *Session) Progress(f *factory.Factory, action string, to reconcile.Reporter) *reconcile.Progress {
	return reconcile.NewProgress(s.Namespace, s.Name, f.Clock.Now, to).In(f.Context()).For(action)
}

// Spin shows that the cluster is read, until the spinner is stopped.
func (s *Session) Spin(f *factory.Factory) *spin.Spin {
	return spin.On(f, "reading cluster "+s.Namespace+"/"+s.Name)
}

// Observe reads the cluster from the API server, and shows that it does.
func (s *Session) Observe(ctx context.Context, f *factory.Factory) (state.Observation, error) {
	defer s.Spin(f).Stop()
	return s.Observer.Observe(ctx, true)
}

// IsNew reports whether a text is asked about for the first time. So a session with several runs says it once.
func (s *Session) IsNew(text string) bool {
	if s.noticed == nil {
		s.noticed = map[string]bool{}
	}
	known := s.noticed[text]
	s.noticed[text] = true
	return !known
}

// Close ends the connections.
func (s *Session) Close() {
	s.Observer.Close()
	_ = s.Dialer.Close()
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

// Title names a cluster in a sentence.
func Title(c topology.Cluster) string {
	return fmt.Sprintf("cluster %s/%s", c.Namespace, c.Name)
}
