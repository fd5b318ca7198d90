package cluster

import (
	"os/exec"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/pki"
)

// Names of the programs, also of their logs.
const (
	containerd        = "containerd"
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	kubelet           = "kubelet"
	proxy             = "kube-proxy"
	coredns           = "coredns"
	// attendant is this program itself: it forwards the API server's port and recycles volumes.
	attendant = "attendant"
)

const (
	etcdAddress  = "127.0.0.1:2379"
	dnsReadyPort = "8181"
	proxyHealth  = "127.0.0.1:10256"
)

// kubernetesServers are the programs of the one Kubernetes binary.
func kubernetesServers() []string {
	return []string{apiServer, controllerManager, scheduler, kubelet, proxy}
}

// hostPrograms are the programs that each host has, in the order in which they start.
func hostPrograms() []string { return []string{containerd, kubelet, proxy} }

// command returns the command line of a program that each host has.
func (h Host) command(name string) (path string, arguments []string) {
	kubeconfig := func(user string) string { return "--kubeconfig=" + h.config(user+".kubeconfig") }
	switch name {
	case containerd:
		return lookPath(containerd), []string{"--config", h.config("containerd.toml")}
	case kubelet:
		arguments := []string{
			"--config=" + h.config("kubelet.json"), kubeconfig(kubeletUser), "--root-dir=" + h.path("kubelet"),
			"--hostname-override=" + h.Name(), "--node-ip=" + h.address(),
			"--boot-id-file=" + h.bootID(),
		}
		if !h.first() {
			// The first host gets its zone when there is a second one: one host alone is in no zone.
			arguments = append(arguments, "--node-labels="+zoneLabel+"="+h.Zone())
		}
		return h.layout.servers(kubelet), arguments
	case proxy:
		return h.layout.servers(proxy), []string{
			kubeconfig(proxyUser), "--hostname-override=" + h.Name(), "--proxy-mode=nftables",
			"--healthz-bind-address=" + proxyHealth, "--metrics-bind-address=127.0.0.1:10249",
			// The kernel's limits on connection tracking belong to the machine, not to the namespace.
			"--conntrack-max-per-core=0", "--conntrack-min=0",
			"--conntrack-tcp-timeout-established=0", "--conntrack-tcp-timeout-close-wait=0",
		}
	}
	panic("no such program: " + name)
}

// command returns the command line of a program that only the first host has.
func (l Layout) command(name string) (path string, arguments []string) {
	kubeconfig := func(user string) string { return "--kubeconfig=" + l.config(user+".kubeconfig") }
	switch name {
	case etcd:
		return l.servers(etcd), []string{
			"--data-dir=" + l.path("etcd"), "--unsafe-no-fsync", "--log-level=warn",
			"--listen-client-urls=http://" + etcdAddress, "--advertise-client-urls=http://" + etcdAddress,
			"--listen-peer-urls=http://127.0.0.1:2380",
		}
	case apiServer:
		return l.servers(apiServer), l.apiServerArguments()
	case controllerManager:
		return l.servers(controllerManager), l.controllerManagerArguments()
	case scheduler:
		return l.servers(scheduler), []string{
			kubeconfig(schedulerUser), "--leader-elect=false", "--bind-address=127.0.0.1",
			"--kube-api-qps=200", "--kube-api-burst=400",
		}
	case coredns:
		return l.servers(coredns), []string{"-conf", l.config("Corefile")}
	}
	panic("no such program: " + name)
}

func (l Layout) apiServerArguments() []string {
	authority := pki.Certificate(l.PKI(), pki.AuthorityName)
	return []string{
		"--etcd-servers=http://" + etcdAddress,
		"--secure-port=" + apiPort, "--advertise-address=" + l.apiIP(),
		"--endpoint-reconciler-type=master-count",
		"--service-cluster-ip-range=" + serviceCIDR,
		"--authorization-mode=Node,RBAC", "--allow-privileged=true",
		"--client-ca-file=" + authority,
		"--tls-cert-file=" + pki.Certificate(l.PKI(), serverIdentity),
		"--tls-private-key-file=" + pki.Key(l.PKI(), serverIdentity),
		"--kubelet-certificate-authority=" + authority,
		"--kubelet-client-certificate=" + pki.Certificate(l.PKI(), adminUser),
		"--kubelet-client-key=" + pki.Key(l.PKI(), adminUser),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + pki.Key(l.PKI(), serviceAccount),
		"--service-account-signing-key-file=" + pki.Key(l.PKI(), serviceAccount),
	}
}

func (l Layout) controllerManagerArguments() []string {
	return []string{
		"--kubeconfig=" + l.config(controllerUser+".kubeconfig"),
		"--leader-elect=false", "--bind-address=127.0.0.1",
		"--service-cluster-ip-range=" + serviceCIDR,
		// Each controller has a role of its own; the program as a whole may do hardly anything.
		"--use-service-account-credentials=true",
		"--root-ca-file=" + pki.Certificate(l.PKI(), pki.AuthorityName),
		"--service-account-private-key-file=" + pki.Key(l.PKI(), serviceAccount),
		"--kube-api-qps=200", "--kube-api-burst=400",
		"--flex-volume-plugin-dir=" + l.path("volume-plugins"),
		// A claim that found no free volume is tried again at this interval, and volumes are recycled all the time.
		"--pvclaimbinder-sync-period=3s",
	}
}

func lookPath(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return name
}
