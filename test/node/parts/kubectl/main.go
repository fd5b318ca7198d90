// Command kubectl is the ordinary kubectl, built from its library at the node's version.
package main

import (
	"os"

	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		// The library prints and exits with the code that the failure stands for (a remote command's, for example).
		util.CheckErr(err)
		os.Exit(1)
	}
}
