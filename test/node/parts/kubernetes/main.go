// Command kubernetes is every server of a Kubernetes node in one binary: the name it is called by (argv[0]) chooses
// which. One link of the shared code instead of five saves minutes of a cold build and 400 MB of disk.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	name := filepath.Base(os.Args[0])
	command := serverCommand(name)
	if command == nil {
		fmt.Fprintf(os.Stderr, "%s: not a server of this binary; call it as kube-apiserver, kube-controller-manager, "+
			"kube-scheduler, kubelet or kube-proxy\n", name)
		os.Exit(2)
	}
	os.Exit(cli.Run(command))
}

// serverCommand builds only the wanted server's command: each constructor registers flags and metrics in globals, and
// two of them in one process would collide.
func serverCommand(name string) *cobra.Command {
	switch name {
	case "kube-apiserver":
		return apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		return controllers.NewControllerManagerCommand()
	case "kube-scheduler":
		return scheduler.NewSchedulerCommand()
	case "kubelet":
		return kubelet.NewKubeletCommand(context.Background())
	case "kube-proxy":
		return proxy.NewProxyCommand()
	}
	return nil
}
