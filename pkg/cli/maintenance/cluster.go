package maintenance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/wait"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/hosts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/act"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// cluster is one with members on the node.
type cluster interface {
	look(ctx context.Context) (hosts.Sight, error)
	// hold keeps other runs from the cluster until it is released.
	hold(ctx context.Context) (release func(), err error)
	// mark tells the drivers of the cluster that a node is under maintenance, and unmark that it is not.
	// With dryRun the API server checks the mark, and nothing is written.
	mark(ctx context.Context, m topology.Maintenance, dryRun bool) error
	unmark(ctx context.Context, node string) error
	moveLeader(ctx context.Context, step step.MoveLeader) error
	// evict makes an evict-leader scheduler, or removes it. Both do nothing where it is so already.
	evict(ctx context.Context, store uint64, on bool) error
	wait(ctx context.Context, goal wait.Goal) error
	// storeDown is how long PD waits for a store before it makes new copies; zero if it is not known.
	storeDown(ctx context.Context) time.Duration
	close()
}

// session is a cluster by its connections.
type session struct {
	*target.Session
	f    *factory.Factory
	seen topology.Cluster
}

// open connects to a cluster.
func open(f *factory.Factory, namespace, name string) (cluster, error) {
	s, err := target.Connect(f, namespace, name)
	if err != nil {
		return nil, err
	}
	return &session{Session: s, f: f}, nil
}

func (s *session) close() { s.Close() }

func (s *session) look(ctx context.Context) (hosts.Sight, error) {
	seen, err := s.Observe(ctx, s.f)
	s.seen = seen.Cluster
	return hosts.Sight{Cluster: seen.Cluster, Snapshot: seen.Snapshot}, err
}

func (s *session) hold(ctx context.Context) (func(), error) {
	held, err := drive.Hold(ctx, s.f, s.Session, s.seen)
	if err != nil {
		return nil, err
	}
	return func() { _ = held.Release() }, nil
}

func (s *session) mark(ctx context.Context, m topology.Maintenance, dryRun bool) error {
	tc, err := s.Load(ctx)
	if err != nil {
		return err
	}
	return s.Intent.BeginMaintenance(tc, m).Write(ctx, intent.Write{DryRun: dryRun})
}

func (s *session) unmark(ctx context.Context, node string) error {
	tc, err := s.Load(ctx)
	if err != nil {
		return err
	}
	return s.Intent.EndMaintenance(tc, node).Write(ctx, intent.Write{})
}

func (s *session) moveLeader(ctx context.Context, next step.MoveLeader) error {
	return act.New(s.Kube, s.Intent, s.Observer.PD, s.seen, s.f.Clock.Now).Do(ctx, next)
}

func (s *session) evict(ctx context.Context, store uint64, on bool) error {
	client := s.Observer.PD()
	var err error
	switch {
	case client == nil:
		err = errors.New("PD cannot be asked")
	case on:
		err = client.AddEvictLeader(ctx, store)
	default:
		err = client.RemoveEvictLeader(ctx, store)
	}
	if errors.Is(err, pd.ErrPaused) {
		err = remedy.For(err, act.Forget(ctx, s.seen, client)...)
	}
	if err != nil {
		return fmt.Errorf("evict-leader scheduler of store %d of cluster %s/%s: %w", store, s.Namespace, s.Name, err)
	}
	return nil
}

func (s *session) wait(ctx context.Context, goal wait.Goal) error {
	return wait.Awaited{Goal: goal}.Until(ctx, s.f, s.Session)
}

func (s *session) storeDown(ctx context.Context) time.Duration {
	if s.Observer.PD() == nil {
		return 0
	}
	after, _ := s.Observer.PD().MaxStoreDownTime(ctx)
	return after
}
