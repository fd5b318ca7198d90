// Package version is the verb that shows the versions of the plugin and of what
// it talks to.
package version

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	apiversion "k8s.io/apimachinery/pkg/version"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
)

// version is set at build time with -ldflags "-X …/version.version=v1.2.3".
var version = ""

// Short is the plugin's version.
func Short() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}

// Versions is the verb's result.
type Versions struct {
	Client     string `json:"client"`
	Go         string `json:"go"`
	Platform   string `json:"platform"`
	Kubernetes string `json:"kubernetes,omitempty"`
}

// options are the verb's flags.
type options struct {
	client bool
	output output.Objects
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the plugin and of Kubernetes",
		Example: `  kubectl tidb version

  # Without asking the API server
  kubectl tidb version --client`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.output.Validate(); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.client, "client", false, "Only the plugin's own version; sends no request.")
	o.output.Bind(cmd)
	return cmd
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	v := Versions{Client: Short(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	var failed error
	if !o.client {
		v.Kubernetes, failed = server(ctx, f)
	}
	// The plugin's version is what a ticket needs when there is no server.
	if err := show(f, v, o); err != nil {
		return err
	}
	return failed
}

func server(ctx context.Context, f *factory.Factory) (string, error) {
	kube, err := f.Kube()
	if err != nil {
		return "", err
	}
	// The library's own call for this cannot be interrupted.
	body, err := kube.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", fmt.Errorf("ask the API server for its version: %w", err)
	}
	var info apiversion.Info
	if err := json.Unmarshal(body, &info); err != nil {
		return "", fmt.Errorf("read the API server's version: %w", err)
	}
	return info.GitVersion, nil
}

func show(f *factory.Factory, v Versions, o options) error {
	out := f.Streams.Out
	if !o.output.Table() {
		object, err := output.Object("Versions", "", "", v)
		if err != nil {
			return err
		}
		return o.output.Print(out, object)
	}
	fmt.Fprintf(out, "kubectl-tidb %s (%s, %s)\n", v.Client, v.Go, v.Platform)
	if v.Kubernetes != "" {
		fmt.Fprintf(out, "Kubernetes %s\n", v.Kubernetes)
	}
	return nil
}
