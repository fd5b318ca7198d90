package main

import (
	"context"
	"net"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/telemetry/announce"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/telemetry/endpoint"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/telemetry/logs"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/telemetry/metrics"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/daemon"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/start"
)

// backend is a dialer for which all pods of all clusters are at one address: who
// is meant is said by the request.
type backend string

func (b backend) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", string(b))
}

func (backend) Close() error { return nil }

// runDaemon is the daemon with the defaults of "sync --watch".
func runDaemon(ctx context.Context, o options) error {
	c, err := connect(o)
	if err != nil {
		return err
	}
	log, err := logs.New("text", os.Stderr)
	if err != nil {
		return err
	}
	defer log.Close()
	log.TakeOver()
	meter := metrics.New("manyclusters")
	meter.CountRequests()
	announcer := announce.New(context.WithoutCancel(ctx), c.kube, "manyclusters")
	defer announcer.Close()
	shard, err := daemon.ParseShard(o.shard)
	if err != nil {
		return err
	}
	d, err := daemon.New(daemon.Config{
		Connections: start.Connections{Kube: c.kube, Intent: intent.New(c.dyn), Dialer: dial.Any(backend(o.backend))},
		Scope:       daemon.Scope{Namespace: o.namespace, Shard: shard}, Policy: plan.Policy{Failover: plan.Failing{Members: true}},
		Workers: 16, Poll: time.Minute, Resync: 10 * time.Hour,
		Reporter: func(cache.ObjectName) reconcile.Reporter { return reconcile.Reporters{log, meter} },
		Meter:    meter, Queue: meter, PD: meter.Called, Announcer: announcer,
	})
	if err != nil {
		return err
	}
	server, err := endpoint.Listen(o.listen, endpoint.Config{Metrics: meter, Ready: d.Ready, Healthy: d.Healthy, Profiles: true, Log: log.Logger})
	if err != nil {
		return err
	}
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return server.Run(ctx) })
	all.Go(func() error { return d.Run(ctx) })
	return all.Wait()
}
