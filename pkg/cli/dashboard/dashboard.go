// Package dashboard is the verb that makes TiDB Dashboard reachable from this machine.
package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/running"
)

// options are the verb's flags and its arguments.
type options struct {
	name []string // the argument that names the cluster
	port int
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "dashboard [NAME]",
		Short: "Make TiDB Dashboard reachable from this machine",
		Long: `Make TiDB Dashboard reachable from this machine, until interrupted, and print its URL. It
asks PD which of its members serves the dashboard, and goes on when that changes or when its
pod is restarted. With TLS it shows PD the certificate of the cluster's clients, so that the
browser needs none. For a part of a database that has no PD, it is the dashboard of the part
with PD.

Only this machine can connect, and only to the dashboard, which asks for a user of TiDB.`,
		Example: `  kubectl tidb dashboard basic

  # On a port of your choice
  kubectl tidb dashboard basic --port 12333`,
		SuggestFor:        []string{"ui", "web"},
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.port < 0 || o.port > 65535 {
				return exit.Usagef("--port %d is no port", o.port)
			}
			o.name = args
			return run(cmd.Context(), o)
		},
	}
	cmd.Flags().IntVar(&o.port, "port", 0, "The port of this machine; a free one without it.")
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("port", cobra.NoFileCompletions)
	return cmd
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	s, c, err := target.WithPD(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	client, scheme := s.Observer.HTTP(ctx, c)
	w := &way{cluster: c, members: running.Client{HTTP: client, Scheme: scheme}, log: f.Streams.ErrOut}
	if _, err := w.now(ctx); err != nil {
		return err
	}
	local, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.port)))
	if err != nil {
		return fmt.Errorf("listen for the browser: %w", err)
	}
	fmt.Fprintf(f.Streams.Out, "http://%s/dashboard/\n", local.Addr())
	fmt.Fprintln(f.Streams.ErrOut, "open this in a browser, and log in as a user of TiDB; Ctrl-C ends the way to it")
	return serve(ctx, local, w.handler(client.Transport))
}

// serve serves until ctx ends. Requests that are under way end then.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err := server.Serve(l)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// addressKey is the setting of PD that says which of its members serves the dashboard. PD chooses one
// with "auto".
const addressKey = "pd-server.dashboard-address"

// find asks PD which of its members serves the dashboard.
func (w *way) find(ctx context.Context) (*url.URL, error) {
	c := w.cluster
	var last error
	g, _ := c.Group(topology.PD)
	for _, n := range g.Ordinals().All() { // with the members that a failover has added
		settings, err := w.members.Settings(ctx, topology.PD, c.PodHost(topology.PD, n))
		if err != nil {
			last = err
			continue
		}
		return w.chosen(settings[addressKey])
	}
	if last == nil {
		last = exit.Refusef("cluster %s/%s has no member of PD in its spec", c.Namespace, c.Name)
	}
	return nil, remedy.For(fmt.Errorf("ask PD of cluster %s/%s for its dashboard: %w", c.Namespace, c.Name, last), remedy.Run("see why", c.Plugin("status")))
}

// errNotChosen says that PD has not chosen a member yet; after its start that takes a minute.
var errNotChosen = errors.New("PD has not chosen a member for the dashboard yet: try again in a minute; a PD that was built without the dashboard never does")

// chosen returns the address of the member that serves the dashboard.
func (w *way) chosen(value any) (*url.URL, error) {
	c := w.cluster
	address, _ := value.(string)
	switch address {
	case "none":
		return nil, remedy.For(exit.Refusef("the dashboard of cluster %s/%s is turned off: PD's dashboard-address is none", c.Namespace, c.Name),
			remedy.Run("turn it on", c.PDCtl(c.PodName(topology.PD, 0), "config set dashboard-address auto")))
	case "", "auto":
		return nil, exit.With(exit.Refused, errNotChosen)
	}
	at, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("read PD's dashboard-address: %w", err)
	}
	k, n, ok := c.Member(at.Hostname())
	_, here := c.HostOrdinal(k, at.Hostname())
	if !ok || c.MayHavePartsAcross() && !here {
		return nil, exit.Refusef("the dashboard is served by %s, which is no member of cluster %s/%s: open it there", address, c.Namespace, c.Name)
	}
	return &url.URL{Scheme: c.Scheme(), Host: net.JoinHostPort(c.PodHost(k, n), strconv.Itoa(topology.PDClientPort))}, nil
}
