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

func identities() []pki.Identity {
	client := func(file, user string, groups ...string) pki.Identity {
		return pki.Identity{File: file, User: user, Groups: groups}
	}
	return []pki.Identity{
		{
			File: serverIdentity, User: "kube-apiserver",
			Hosts: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
			IPs:   []string{"127.0.0.1", apiServiceIP, bridgeIP},
		},
		{
			File: kubeletUser, User: "system:node:" + nodeName, Groups: []string{"system:nodes"},
			Hosts: []string{nodeName}, IPs: []string{bridgeIP},
		},
		client(adminUser, "kubectl-tidb-admin", "system:masters"),
		client(controllerUser, "system:kube-controller-manager"),
		client(schedulerUser, "system:kube-scheduler"),
		client(proxyUser, "system:kube-proxy"),
		// CoreDNS as an administrator: it saves a role and a binding on a cluster that nobody attacks.
		client(dnsUser, "coredns", "system:masters"),
		client(serviceAccount, "service-account"),
	}
}

// writePKI issues all certificates again.
func (l Layout) writePKI() error {
	authority, err := pki.NewAuthority(l.PKI())
	if err != nil {
		return err
	}
	for _, identity := range identities() {
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
		"users": []object{{"name": user, "user": object{
			"client-certificate-data": encoded["certificate"], "client-key-data": encoded["key"],
		}}},
		"contexts": []object{{"name": l.Name(), "context": object{"cluster": l.Name(), "user": user}}},
	})
}

// writeConfigs writes the configuration files of all programs.
func (l Layout) writeConfigs() error {
	for _, user := range []string{controllerUser, schedulerUser, kubeletUser, proxyUser, dnsUser} {
		if err := l.writeKubeconfig(l.config(user+".kubeconfig"), user, "https://"+apiAddress); err != nil {
			return err
		}
	}
	if err := writeJSON(l.config("kubelet.json"), l.kubeletConfig()); err != nil {
		return err
	}
	if err := writeJSON(l.path("config", "cni", "10-node.conflist"), l.podNetwork()); err != nil {
		return err
	}
	return writeFiles(map[string]string{
		l.config("containerd.toml"): l.containerdConfig(),
		l.config("Corefile"):        l.corefile(),
		// Pods get no server other than the cluster's, so a name outside the cluster fails at once.
		l.config("resolv.conf"): "nameserver " + bridgeIP + "\n",
		// Every registry is a closed port: pulling a missing image fails at once instead of after a long wait.
		l.path("config", "registries", "_default", "hosts.toml"): noRegistry,
	})
}

// noRegistry names the address twice: containerd 1.6 does not accept a file without a table of hosts.
const noRegistry = `server = "http://127.0.0.1:1"

[host."http://127.0.0.1:1"]
  capabilities = ["pull", "resolve"]
`

func (l Layout) podNetwork() map[string]any {
	type object = map[string]any
	return object{
		"cniVersion": "0.4.0", "name": l.Name(),
		"plugins": []object{{
			"type": "bridge", "bridge": bridge, "isGateway": true, "hairpinMode": true,
			"ipam": object{
				"type": "host-local", "dataDir": l.path("cni"),
				"ranges": [][]object{{{"subnet": podSubnet, "gateway": bridgeIP}}},
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
