package cluster

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/process"
)

func TestLayoutFromTheEnvironment(t *testing.T) {
	t.Setenv("NODE_STATE", "")
	if layout, err := NewLayout(); err != nil || layout.Root != DefaultState || layout.Name() != "kubectl-tidb-node" {
		t.Errorf("default is %+v, %v", layout, err)
	}
	t.Setenv("NODE_STATE", "/a/b/../second/")
	if layout, err := NewLayout(); err != nil || layout.Root != "/a/second" || layout.Name() != "second" {
		t.Errorf("got %+v, %v", layout, err)
	}
	for _, dangerous := range []string{"/", "/home", "/home/.."} {
		t.Setenv("NODE_STATE", dangerous)
		if _, err := NewLayout(); err == nil {
			t.Errorf("%s was accepted", dangerous)
		}
	}
}

func TestForeignFoldersAreRefused(t *testing.T) {
	layout := Layout{Root: t.TempDir()}
	if err := layout.check(); err != nil {
		t.Errorf("empty folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(layout.Root, "letter.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := layout.check(); err == nil {
		t.Error("a folder with other files was accepted")
	}
	if err := layout.save(State{}); err != nil {
		t.Fatal(err)
	}
	if err := layout.check(); err != nil {
		t.Errorf("a node's folder: %v", err)
	}
}

func TestStateSurvives(t *testing.T) {
	layout := Layout{Root: t.TempDir()}
	if state, err := layout.LoadState(); err != nil || !reflect.DeepEqual(state, State{}) {
		t.Errorf("without a file: %+v, %v", state, err)
	}
	want := State{Port: 7, Images: "i", Ready: true, Processes: []process.Record{{Name: "a", PID: 1, Start: 2}}}
	if err := layout.save(want); err != nil {
		t.Fatal(err)
	}
	if got, err := layout.LoadState(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := os.WriteFile(layout.stateFile(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := layout.LoadState(); err == nil {
		t.Error("half a file was accepted")
	}
}

func TestLockIsExclusive(t *testing.T) {
	layout := Layout{Root: filepath.Join(t.TempDir(), "state")}
	unlock, err := layout.Lock(0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := layout.Lock(0); err == nil {
		t.Error("locked twice")
	}
	unlock()
	unlock, err = layout.Lock(0)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestConfigurationFiles(t *testing.T) {
	layout := Layout{Root: t.TempDir()}
	if err := layout.writePKI(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(layout.writeConfigs(), layout.host(0).writeConfigs()); err != nil {
		t.Fatal(err)
	}
	if err := layout.writeKubeconfig(layout.Kubeconfig(), adminUser, "https://127.0.0.1:5"); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(layout.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		CurrentContext string `json:"current-context"`
		Clusters       []struct {
			Cluster struct {
				Server    string
				Authority []byte `json:"certificate-authority-data"`
			}
		}
		Users []struct {
			User struct {
				Certificate []byte `json:"client-certificate-data"`
				Key         []byte `json:"client-key-data"`
			}
		}
	}
	if err := json.Unmarshal(content, &config); err != nil {
		t.Fatal(err)
	}
	if config.CurrentContext != layout.Name() || config.Clusters[0].Cluster.Server != "https://127.0.0.1:5" {
		t.Errorf("kubeconfig is %+v", config)
	}
	for _, block := range [][]byte{
		config.Clusters[0].Cluster.Authority, config.Users[0].User.Certificate, config.Users[0].User.Key,
	} {
		if !strings.HasPrefix(string(block), "-----BEGIN ") {
			t.Errorf("not a PEM block: %q", block)
		}
	}
	if info, err := os.Stat(layout.Kubeconfig()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig has the mode %v, %v; it holds a key", info.Mode(), err)
	}
}

func TestEveryProgramHasACommand(t *testing.T) {
	layout := Layout{Root: "/state/node"}
	hosts := []Host{layout.host(0), layout.host(1)}
	commands := map[string]func(string) (string, []string){}
	for _, name := range []string{etcd, apiServer, controllerManager, scheduler, coredns} {
		commands[name] = layout.command
	}
	for _, name := range hostPrograms() {
		for _, h := range hosts {
			commands[h.program(name)] = func(string) (string, []string) { return h.command(name) }
		}
	}
	for name, command := range commands {
		path, arguments := command(name)
		if filepath.Base(path) != filepath.Base(name) || len(arguments) == 0 {
			t.Errorf("%s: %s %v", name, path, arguments)
		}
		for _, argument := range arguments {
			if strings.Contains(argument, "/state/") && !strings.Contains(argument, "/state/node/") {
				t.Errorf("%s has a file outside the state folder: %s", name, argument)
			}
		}
	}
}

func TestContainersOfTheNode(t *testing.T) {
	host := Layout{Root: t.TempDir()}.host(1)
	running, ended := strings.Repeat("a", 64), strings.Repeat("b", 64)
	if err := os.MkdirAll(host.path("containerd", "state", taskFolder, running), 0o755); err != nil {
		t.Fatal(err)
	}
	log := "time=… msg=\"StopContainer for \\\"" + ended + "\\\"\" short=abc " + running
	if err := writeFiles(map[string]string{host.log(containerd): log}); err != nil {
		t.Fatal(err)
	}
	if got := host.containers(); !slices.Equal(got, []string{running, ended}) {
		t.Errorf("found %v", got)
	}
	want := []string{"k8s.io/" + running, "k8s.io/" + ended}
	if got := containerGroups(host.containers()); !slices.Equal(got, want) {
		t.Errorf("groups are %v", got)
	}
}

func TestUnescapeMount(t *testing.T) {
	if got := unescapeMount(`/a\040b\134c`); got != `/a b\c` {
		t.Errorf("got %q", got)
	}
}

func TestFreePort(t *testing.T) {
	if port, err := freePort(); err != nil || port < 1024 {
		t.Errorf("port %d, %v", port, err)
	}
}

// A node with everything is not taken for an API server alone, nor the reverse:
// a caller that wants controllers, or must not have them, would get the wrong one.
func TestKindsAreToldApart(t *testing.T) {
	for _, alone := range []bool{true, false} {
		var said strings.Builder
		n := &Node{Alone: alone, Progress: &said, state: State{Ready: true, Alone: !alone, Processes: []process.Record{{Name: etcd}}}}
		if n.healthy(t.Context()) || !strings.Contains(said.String(), "other kind") {
			t.Errorf("alone: %t, said %q", alone, said.String())
		}
	}
}
