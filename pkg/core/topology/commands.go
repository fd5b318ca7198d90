package topology

import (
	"fmt"
	"path"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// Kubectl returns a command of kubectl for objects of the cluster.
func (c Cluster) Kubectl(args ...string) remedy.Command { return remedy.Kubectl(c.Namespace, args...) }

// Delete returns a command that has an object deleted and does not wait for the end of the deletion. Where a finalizer
// or a node that is lost keeps the object, a command that waits would never return.
func (c Cluster) Delete(resource, name string) remedy.Command {
	return c.Kubectl("delete", resource, name, "--wait=false")
}

// Plugin returns a command of "kubectl tidb" for the cluster.
func (c Cluster) Plugin(verb string, args ...string) remedy.Command {
	return remedy.Plugin(c.Namespace, append([]string{verb, c.Name}, args...)...)
}

// Patch returns a command that changes the spec of the TidbCluster; spec is JSON.
func (c Cluster) Patch(spec string) remedy.Command {
	return c.Kubectl("patch", "tidbclusters", c.Name, "--type", "merge", "-p", `{"spec":`+spec+`}`)
}

// Suspend returns a command that asks for the suspension of all components.
func (c Cluster) Suspend() remedy.Command {
	return c.Patch(`{"suspendAction":{"suspendStatefulSet":true}}`)
}

// PDCtl returns a command that runs pd-ctl in one of PD's pods. The words are the arguments of
// pd-ctl, separated by spaces.
func (c Cluster) PDCtl(pod, words string) remedy.Command {
	return c.PDPart().Kubectl(append([]string{"exec", pod, "-c", string(PD), "--", "/pd-ctl"}, strings.Fields(words)...)...)
}

// TiDBStatusCall returns the command that asks for a page of the status port of a TiDB server. It is to be run in the
// container of that server. Its parts are those of a probe as well, so another order would restart pods.
func (c Cluster) TiDBStatusCall(page string, flags ...string) []string {
	command := append([]string{"curl", fmt.Sprintf("%s://127.0.0.1:%d%s", c.Scheme(), TiDBStatusPort, page)}, flags...)
	if c.TLS.Members {
		dir := CertificateDir(TiDB.CertificateVolume())
		command = append(command, "--cacert", path.Join(dir, KeyCA), "--cert", path.Join(dir, KeyCertificate), "--key", path.Join(dir, KeyPrivate))
	}
	return command
}
