package sync

import (
	"context"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/resident"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/telemetry/announce"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/telemetry/endpoint"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/telemetry/logs"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/telemetry/metrics"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/daemon"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/start"
)

// watch keeps clusters converged until ctx ends, which is no error.
func watch(ctx context.Context, f *factory.Factory, o options) error {
	log, err := logs.New(o.logFormat, f.Streams.ErrOut)
	if err != nil {
		return err
	}
	defer log.Close()
	if f.Connect == nil { // otherwise other commands run in this process
		log.TakeOver()
	}
	meter := metrics.New(f.Version)
	meter.CountRequests()
	config, err := o.config(f, o.name)
	if err != nil {
		return err
	}
	reporters := reconcile.Reporters{log, meter}
	if o.Output.JSON() {
		stream := report.NewStream(f.Streams.Out)
		defer stream.Close()
		reporters = append(reporters, stream)
	}
	announcer := announce.New(context.WithoutCancel(ctx), config.Kube, lease.Self().Host)
	defer announcer.Close()
	config.Policy = plan.Policy{Failover: plan.Failing{Members: o.failover}, Eviction: o.Eviction}
	config.TakeOver, config.Restricted = o.TakeOver, o.restricted
	config.Meter, config.Queue, config.Announcer, config.PD = meter, meter, announcer, meter.Called
	config.Reporter = func(cache.ObjectName) reconcile.Reporter { return reporters }
	d, err := daemon.New(config)
	if err != nil {
		return err
	}
	meter.Probe(d.Ready, d.Healthy)
	return serve(ctx, d, config, o.listen, endpoint.Config{
		Metrics: meter, Ready: d.Ready, Healthy: d.Healthy, Profiles: o.pprof, Log: log.Logger,
	})
}

// serve runs the daemon, and the server of its probes and metrics. It listens before any cluster is
// driven.
func serve(ctx context.Context, d *daemon.Daemon, c daemon.Config, address string, at endpoint.Config) error {
	resident.LimitMemory()
	all, ctx := errgroup.WithContext(ctx)
	if address != "" {
		server, err := endpoint.Listen(address, at)
		if err != nil {
			return err
		}
		defer server.Close()
		all.Go(func() error { return server.Run(ctx) })
	}
	all.Go(func() error {
		if err := daemon.Check(ctx, c.Kube, c.Scope); err != nil {
			return exit.Ended(ctx, err)
		}
		return d.Run(ctx)
	})
	return all.Wait()
}

// config connects.
func (w *watching) config(f *factory.Factory, name []string) (daemon.Config, error) {
	c := daemon.Config{Connections: start.Connections{Now: f.Clock.Now}, Connect: f.Connect, Workers: w.workers, Poll: w.poll, Resync: w.resync}
	var err error
	if c.Scope, err = w.scope(f, name); err != nil {
		return c, err
	}
	shared, err := f.Config()
	if err != nil {
		return c, err
	}
	rc := rest.CopyConfig(shared)
	// The API server's priority and fairness limits the requests of a client: with a limit here
	// clusters would wait for each other.
	rc.QPS = -1
	dyn, err := dynamic.NewForConfig(rc)
	if err != nil {
		return c, err
	}
	c.Intent = intent.New(dyn)
	rc.ContentType, rc.AcceptContentTypes = protobuf, protobuf+",application/json"
	if c.Kube, err = kubernetes.NewForConfig(rc); err != nil {
		return c, err
	}
	if !f.Direct(shared) {
		c.Dialer, err = f.Dialer()
	}
	return c, err
}

// protobuf takes a fraction of the time and the memory of JSON.
const protobuf = "application/vnd.kubernetes.protobuf"
