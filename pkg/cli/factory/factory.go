// Package factory makes the clients of commands. Each is made on first use, so that "--help" never
// uses the network.
package factory

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/clock"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/harmless"
)

// Factory makes clients from kubectl's flags.
type Factory struct {
	Flags   *genericclioptions.ConfigFlags
	Streams genericiooptions.IOStreams
	Version string
	// Args are the arguments of the command line that is running.
	Args []string
	// Env reads an environment variable.
	Env func(string) string
	// Clock has the time of the API server.
	Clock *clock.Clock
	// Connect makes the connections to the API server, and the connections to members that are reached directly. It is nil
	// for the network; a test with a clock of its own (testing/synctest) cannot wait for that.
	Connect dial.Connect
	// Quiet: no spinner is shown, because the command is one of several that run at the same time.
	Quiet bool

	// headers say which command sends a request; kubectl's packages make them.
	headers map[string]string

	dial     way
	expected expected
	config   func() (*rest.Config, error)
	client   func() (*http.Client, error)
	limit    time.Duration // of the wait for each answer; 0 without such a limit
	answered *atomic.Bool
}

// New returns a factory. What commands write to its streams is cleaned of what could control a terminal or a CI system.
func New(streams genericiooptions.IOStreams, env func(string) string, version string) *Factory {
	streams.Out, streams.ErrOut = harmless.NewStream(streams.Out), harmless.NewStream(streams.ErrOut)
	f := &Factory{Flags: genericclioptions.NewConfigFlags(true), Streams: streams, Env: env, Version: version, Clock: clock.New(time.Now), dial: auto, answered: new(atomic.Bool)}
	f.config = sync.OnceValues(f.load)
	// One client for all, so that they share connections.
	f.client = sync.OnceValues(func() (*http.Client, error) {
		c, err := f.config()
		if err != nil {
			return nil, err
		}
		return rest.HTTPClientFor(c)
	})
	return f
}

// Names has each request say which command the request is from, as requests of kubectl do. KUBECTL_COMMAND_HEADERS
// can turn that off. Names is called before the first request.
func (f *Factory) Names(cmd *cobra.Command) {
	if off := f.Env("KUBECTL_COMMAND_HEADERS"); off == "0" || off == "false" {
		return
	}
	var parsed genericclioptions.CommandHeaderRoundTripper
	parsed.ParseCommandHeaders(cmd, nil)
	f.headers = parsed.Headers
}

// Written returns why the output of a command is not complete; nil if all of it was written.
func (f *Factory) Written() error {
	for _, w := range []io.Writer{f.Streams.Out, f.Streams.ErrOut} {
		if s, ok := w.(*harmless.Stream); ok && s.Failed() != nil {
			return fmt.Errorf("the output is not complete: %w", s.Failed())
		}
	}
	return nil
}

// Config returns how to reach the API server.
func (f *Factory) Config() (*rest.Config, error) { return f.config() }

// Kubectl returns the factory that kubectl's own packages take.
func (f *Factory) Kubectl() cmdutil.Factory { return cmdutil.NewFactory(f.Flags) }

// Kube returns a client for Kubernetes' own objects.
func (f *Factory) Kube() (kubernetes.Interface, error) {
	client, err := f.client()
	if err != nil {
		return nil, err
	}
	c, err := f.config()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfigAndClient(c, client)
}

// Metadata returns a client for the metadata of any object.
func (f *Factory) Metadata() (metadata.Interface, error) {
	client, err := f.client()
	if err != nil {
		return nil, err
	}
	c, err := f.config()
	if err != nil {
		return nil, err
	}
	return metadata.NewForConfigAndClient(metadata.ConfigFor(c), client)
}

// Dynamic returns a client for objects of any kind.
func (f *Factory) Dynamic() (dynamic.Interface, error) {
	client, err := f.client()
	if err != nil {
		return nil, err
	}
	c, err := f.config()
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfigAndClient(c, client)
}
