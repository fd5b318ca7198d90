package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/doctor"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/spin"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/status"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/finding"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/bundle"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/harmless"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// collect writes an archive about a cluster. What cannot be read is named in it and on stderr.
func collect(ctx context.Context, f *factory.Factory, o *options) error {
	s, err := target.Open(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.Load(ctx); notThere(err) {
		return err
	}
	file, err := os.OpenFile(o.bundle, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return exit.With(exit.Usage, fmt.Errorf("write the archive: %w", err))
	}
	b := bundle.New(file, s.Namespace+"-"+s.Name, f.Clock.Now())
	shown := spin.On(f, "collecting what is known of cluster "+s.Namespace+"/"+s.Name)
	fill(ctx, f, s, b)
	failed := b.Close()
	failed = errors.Join(failed, file.Close())
	shown.Stop()
	for _, l := range b.Lacks() {
		fmt.Fprintln(f.Streams.ErrOut, "not read: "+harmless.Line(l))
	}
	if failed == nil {
		failed = context.Cause(ctx)
	}
	if failed != nil {
		return exit.With(cmp.Or(exit.Of(failed), exit.Failure), fmt.Errorf("the archive %s is not complete: %w", o.bundle, failed))
	}
	fmt.Fprintf(f.Streams.Out, "%s\n", o.bundle)
	if lost := b.Unwritten(); len(lost) > 0 {
		return fmt.Errorf("the archive %s is written, but lacks %s", o.bundle, strings.Join(lost, ", "))
	}
	return nil
}

// notThere reports whether there is no cluster to collect anything of, or no way to reach it.
func notThere(err error) bool {
	_, malformed := errors.AsType[*intent.MalformedError](err)
	return err != nil && !malformed
}

// fill adds everything to the archive.
func fill(ctx context.Context, f *factory.Factory, s *target.Session, b *bundle.Bundle) {
	b.JSON("about.json", map[string]any{
		"version": f.Version, "time": f.Clock.Now().UTC(), "context": f.Context(), "namespace": s.Namespace, "cluster": s.Name,
	}, nil)
	seen, err := status.Glance(ctx, s, f.Context())
	if err != nil {
		b.Lack("status.json, findings.json", err)
	}
	tc, unread := s.Load(ctx)
	if bad, malformed := errors.AsType[*intent.MalformedError](unread); malformed {
		tc, unread = bad.Cluster, nil
	}
	if unread != nil {
		b.Lack("tidbcluster.yaml", unread)
		return
	}
	b.Collect(ctx, bundle.Cluster{
		Kube: s.Kube, PD: s.Observer.PD(), Cluster: topology.New(tc), HasAdvanced: s.Observer.Advanced(), TidbCluster: tc, Certificates: seen.Snapshot.Certificates,
	})
	if err != nil {
		return
	}
	document, err := seen.Document()
	b.JSON("status.json", document, err)
	look, err := doctor.Examine(ctx, f, s)
	if _, malformed := errors.AsType[*intent.MalformedError](err); err != nil && !malformed {
		b.Lack("findings.json", err)
		return
	}
	document, err = doctor.Document(s.Namespace, s.Name, finding.Find(look), nil, f.Context())
	b.JSON("findings.json", document, err)
}
