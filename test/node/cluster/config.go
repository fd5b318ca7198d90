package cluster

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/pki"
)

// File names of the identities.
const (
	adminUser      = "admin"
	serverIdentity = "apiserver"
	kubeletUser    = "kubelet"
	controllerUser = "controller-manager"
	schedulerUser  = "scheduler"
	proxyUser      = "proxy"
	dnsUser        = "dns"
	serviceAccount = "service-account"
)

func (l Layout) identities() []pki.Identity {
	client := func(file, user string, groups ...string) pki.Identity {
		return pki.Identity{File: file, User: user, Groups: groups}
	}
	return []pki.Identity{
		{
			File: serverIdentity, User: "kube-apiserver",
			Hosts: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
			IPs:   []string{"127.0.0.1", apiServiceIP, l.apiIP()},
		},
		l.host(0).identity(),
		client(adminUser, "kubectl-tidb-admin", "system:masters"),
		client(controllerUser, "system:kube-controller-manager"),
		client(schedulerUser, "system:kube-scheduler"),
		client(proxyUser, "system:kube-proxy"),
		// CoreDNS as an administrator: it saves a role and a binding on a cluster that nobody attacks.
		client(dnsUser, "coredns", "system:masters"),
		client(serviceAccount, "service-account"),
	}
}

// identity is that of the host's kubelet.
func (h Host) identity() pki.Identity {
	return pki.Identity{
		File: h.kubeletUser(), User: "system:node:" + h.Name(), Groups: []string{"system:nodes"},
		Hosts: []string{h.Name()}, IPs: []string{h.address()},
	}
}

// writePKI issues all certificates of the first host again.
func (l Layout) writePKI() error {
	authority, err := pki.NewAuthority(l.PKI())
	if err != nil {
		return err
	}
	for _, identity := range l.identities() {
		if err := authority.Issue(identity); err != nil {
			return err
		}
	}
	return nil
}

// writeKubeconfig writes a client's configuration with the certificates inside, so that the file can be copied.
func (l Layout) writeKubeconfig(path, user, server string) error {
	encoded := map[string]string{}
	for name, file := range map[string]string{
		"authority":   pki.Certificate(l.PKI(), pki.AuthorityName),
		"certificate": pki.Certificate(l.PKI(), user),
		"key":         pki.Key(l.PKI(), user),
	} {
		content, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("write the kubeconfig of %s: %w", user, err)
		}
		encoded[name] = base64.StdEncoding.EncodeToString(content)
	}
	type object = map[string]any
	return writeJSON(path, object{
		"apiVersion": "v1", "kind": "Config", "current-context": l.Name(),
		"clusters": []object{{"name": l.Name(), "cluster": object{
			"server": server, "certificate-authority-data": encoded["authority"],
		}}},
		// Names of several nodes do not clash in a list of files.
		"users": []object{{"name": user + "-" + l.Name(), "user": object{
			"client-certificate-data": encoded["certificate"], "client-key-data": encoded["key"],
		}}},
		"contexts": []object{{"name": l.Name(), "context": object{"cluster": l.Name(), "user": user + "-" + l.Name()}}},
	})
}

// writeConfigs writes the configuration files of the programs that only the first host has.
func (l Layout) writeConfigs() error {
	for _, user := range []string{controllerUser, schedulerUser, dnsUser} {
		if err := l.writeKubeconfig(l.config(user+".kubeconfig"), user, "https://"+apiAddress); err != nil {
			return err
		}
	}
	return writeFiles(map[string]string{l.config("Corefile"): l.corefile()})
}

// writeConfigs writes the configuration files of the programs that each host has.
func (h Host) writeConfigs() error {
	server := apiAddress
	if !h.first() {
		server = h.layout.apiIP() + ":" + apiPort
	}
	for file, user := range map[string]string{kubeletUser: h.kubeletUser(), proxyUser: proxyUser} {
		if err := h.layout.writeKubeconfig(h.config(file+".kubeconfig"), user, "https://"+server); err != nil {
			return err
		}
	}
	if err := writeJSON(h.config("kubelet.json"), h.kubeletConfig()); err != nil {
		return err
	}
	if err := writeJSON(h.path("config", "cni", "10-node.conflist"), h.podNetwork()); err != nil {
		return err
	}
	return writeFiles(map[string]string{
		h.config("containerd.toml"): h.containerdConfig(),
		// Pods get no server other than the cluster's, so a name outside the cluster fails at once.
		h.config("resolv.conf"): "nameserver " + h.layout.apiIP() + "\n",
		// Every registry is a closed port: pulling a missing image fails at once instead of after a long wait.
		h.path("config", "registries", "_default", "hosts.toml"): noRegistry,
	})
}

// noRegistry names the address twice: containerd 1.6 does not accept a file without a table of hosts.
const noRegistry = `server = "http://127.0.0.1:1"

[host."http://127.0.0.1:1"]
  capabilities = ["pull", "resolve"]
`

func (h Host) podNetwork() map[string]any {
	type object = map[string]any
	first, last := h.podRange()
	return object{
		"cniVersion": "0.4.0", "name": h.layout.Name(),
		"plugins": []object{{
			"type": "bridge", "bridge": bridge, "isGateway": true, "hairpinMode": true,
			"ipam": object{
				"type": "host-local", "dataDir": h.path("cni"),
				"ranges": [][]object{{{
					"subnet": podSubnet, "gateway": h.address(), "rangeStart": first, "rangeEnd": last,
				}}},
				"routes": []object{{"dst": "0.0.0.0/0"}},
			},
		}},
	}
}

func writeJSON(path string, value any) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return writeFiles(map[string]string{path: string(content) + "\n"})
}

func writeFiles(files map[string]string) error {
	for path, content := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("create the folder of %s: %w", path, err)
		}
		// Several of these files hold keys.
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return fmt.Errorf("write a configuration file: %w", err)
		}
	}
	return nil
}
