//go:build linux

package lab

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestHosts(t *testing.T) {
	if *state == "" {
		t.Skip("SKIPPED: it starts a node of three hosts: make lab-test")
	}
	program := compile(t)
	l := newLab(t, program, *state, "")
	l.must(t, "up")
	api := l.process(t, "kube-apiserver")
	started := time.Now()
	l.must(t, "up", "-hosts", "3")
	if took := time.Since(started); took > 40*time.Second {
		t.Errorf("two hosts were added in %s", took)
	}
	if got := l.process(t, "kube-apiserver"); got != api {
		t.Errorf("the API server was %s, and is %s", api, got)
	}
	for name, host := range servers {
		l.apply(t, server(name, host, "host-disk"), "apply", "-f", "-")
	}
	l.apply(t, service, "apply", "-f", "-")
	for name := range servers {
		l.ready(t, name, "0")
	}
	for _, part := range []struct {
		name string
		test func(*testing.T, lab)
	}{
		{"network", network}, {"cut", cut}, {"cut from others", cutFromOthers}, {"cut from the API server", cutFromAPI},
		{"cut from the operator", cutFromOperator}, {"crash", crash}, {"reboot", reboot}, {"the first host", firstHost},
		{"drain", drain}, {"refusals", refusals},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.test(t, l) }) {
			l.must(t, "mend")
		}
	}
	t.Run("join", func(t *testing.T) {
		other := newLab(t, program, *state+"-joined", "1")
		join(t, l, other)
	})
	l.must(t, "down")
	nothingLeft(t, filepath.Base(*state))
}

func (l lab) process(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(l.state, "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(content), fmt.Sprintf("%q", name))
	process, _, _ := strings.Cut(after, "}")
	return process
}

func network(t *testing.T, l lab) {
	for name, host := range servers {
		if got := l.get(t, "pod/"+pod(name), ".spec.nodeName"); got != host {
			t.Errorf("%s is on %s, not on %s", name, got, host)
		}
		l.expect(t, name, "a b c", "")
		if out, err := l.fetch(name, "any.default.svc", "name"); err != nil || servers[out] == "" {
			t.Errorf("%s reaches no server by their service: %v %s", name, err, out)
		}
	}
	zones := l.kubectl(t, "get", "nodes", "-o", `jsonpath={.items[*].metadata.labels.topology\.kubernetes\.io/zone}`)
	if zones != "zone-a zone-b zone-c" {
		t.Errorf("zones are %s", zones)
	}
}

func cut(t *testing.T, l lab) {
	l.must(t, "cut", "node1", "from", "node2")
	l.expect(t, "a", "b c", "")
	l.expect(t, "b", "a", "c")
	l.expect(t, "c", "a", "b")
	l.must(t, "mend", "node2")
	l.expect(t, "b", "a c", "")

	l.must(t, "cut", "node2")
	l.expect(t, "a", "b", "c")
	l.expect(t, "b", "a", "c")
	l.outOfReach(t, "c")
	l.must(t, "mend")
	l.expect(t, "c", "a b", "")
}

func cutFromOthers(t *testing.T, l lab) {
	l.must(t, "cut", "node1", "from", "others")
	l.expect(t, "a", "c", "b")
	l.expect(t, "c", "a", "b")
	l.expect(t, "b", "b", "a c") // which runs by way of the API server
	l.seen(t, "node1")
	l.must(t, "mend", "node1")
	l.expect(t, "b", "a c", "")
}

func cutFromAPI(t *testing.T, l lab) {
	l.must(t, "cut", "node1", "from", "api")
	l.expect(t, "a", "b c", "")
	l.expect(t, "c", "a b", "")
	l.outOfReach(t, "b")
	l.kubectl(t, "wait", "--for=condition=Ready=Unknown", "node/node1", "--timeout="+patience.String())
	l.expect(t, "a", "b", "")
	l.must(t, "mend", "node1")
	l.kubectl(t, "wait", "--for=condition=Ready", "node/node1", "--timeout="+patience.String())
	l.ready(t, "b", "0")
}

func cutFromOperator(t *testing.T, l lab) {
	l.must(t, "cut", "node1", "from", "operator")
	l.expect(t, "a", "b c", "")
	l.outOfReach(t, "b")
	l.seen(t, "node1")
	l.must(t, "mend", "node1")
	l.expect(t, "b", "a c", "")
}

// seen waits until the kubelet of a host has reached the API server once more.
func (l lab) seen(t *testing.T, host string) {
	t.Helper()
	lease := func() string {
		return l.kubectl(t, "-n", "kube-node-lease", "get", "lease", host, "-o", "jsonpath={.spec.renewTime}")
	}
	before := lease()
	eventually(t, host+" renews its lease", func() bool { return lease() != before })
}

func crash(t *testing.T, l lab) {
	l.must(t, "crash", "node1")
	l.expect(t, "a", "c", "b")
	l.refused(t, "mend node1", "crash", "node1")
	l.refused(t, "has crashed", "load", "nothing.tar")
	if out := l.must(t, "hosts"); !strings.Contains(out, "crashed") {
		t.Errorf("it is not listed as crashed:\n%s", out)
	}
	l.must(t, "mend", "node1")
	l.ready(t, "b", "1")
	if got := l.started(t, "b"); got != 2 {
		t.Errorf("its disk has %d starts", got)
	}
	l.expect(t, "b", "a c", "")
}

func reboot(t *testing.T, l lab) {
	before := l.get(t, "node/node2", ".status.nodeInfo.bootID")
	l.must(t, "reboot", "node2")
	l.ready(t, "c", "1")
	if got := l.started(t, "c"); got != 2 {
		t.Errorf("its disk has %d starts", got)
	}
	if after := l.get(t, "node/node2", ".status.nodeInfo.bootID"); after == before {
		t.Errorf("the boot id is still %s", after)
	}
}

// firstHost: its crash leaves the API server and the DNS server.
func firstHost(t *testing.T, l lab) {
	l.must(t, "crash", "node0")
	l.expect(t, "b", "c", "a")
	if out, err := l.fetch("b", "any.default.svc", "name"); err != nil && !strings.Contains(out, "143") {
		t.Errorf("names are not found any more: %s", out)
	}
	l.must(t, "mend")
	l.ready(t, "a", "1")
	l.expect(t, "b", "a", "")
}

// drain: a pod with a network disk moves with its data, one with a disk of the host waits for the host.
func drain(t *testing.T, l lab) {
	l.apply(t, server("d", "node1", "local"), "apply", "-f", "-")
	l.ready(t, "d", "0")
	l.must(t, "drain", "node1")
	l.ready(t, "d", "0")
	if host, starts := l.get(t, "pod/"+pod("d"), ".spec.nodeName"), l.started(t, "d"); host == "node1" || starts != 2 {
		t.Errorf("d is on %s and has started %d times", host, starts)
	}
	if host := l.get(t, "pod/"+pod("b"), ".spec.nodeName"); host != "" {
		t.Errorf("b is on %s, and its disk is in node1", host)
	}
	l.kubectl(t, "uncordon", "node1")
	l.ready(t, "b", "0")
}

func refusals(t *testing.T, l lab) {
	l.refused(t, "there is node0, node1, node2", "crash", "node7")
	l.refused(t, "there is node0, node1, node2", "mend", "nod1")
	l.refused(t, "cut HOST from OTHER|others|api|operator", "cut", "node1", "from")
	l.refused(t, "name a host, others, api or operator", "cut", "node1", "from", "node9")
	l.refused(t, "cut another host", "cut", "node0", "from", "api")
	l.refused(t, "make node-up HOSTS=2", "up", "-hosts", "2")
	l.refused(t, "NODE_NETWORK=1", "join", l.state)
}

func join(t *testing.T, l, other lab) {
	other.must(t, "up")
	other.apply(t, server("e", "node0", "local"), "apply", "-f", "-")
	other.ready(t, "e", "0")
	l.must(t, "join", other.state)
	l.must(t, "join", other.state)
	for name := range servers {
		if out, err := l.fetch(name, other.address(t, "e"), "name"); err != nil || out != "e" {
			t.Errorf("%s does not reach the other cluster: %v %s", name, err, out)
		}
		if out, err := other.fetch("e", l.address(t, name), "name"); err != nil || out != name {
			t.Errorf("%s is not reached from the other cluster: %v %s", name, err, out)
		}
	}
	byName := fmt.Sprintf("%s.e.default.svc.network%s.example", pod("e"), other.network)
	if out, err := l.fetch("a", byName, "name"); err != nil || out != "e" {
		t.Errorf("a does not reach %s: %v %s", byName, err, out)
	}
	l.must(t, "part", other.state)
	if out, err := l.fetch("a", other.address(t, "e"), "name"); err == nil {
		t.Errorf("a reaches the other cluster without a link: %s", out)
	}
	l.must(t, "join", other.state)
	if out, err := other.fetch("e", l.address(t, "a"), "name"); err != nil || out != "a" {
		t.Errorf("a is not reached again: %v %s", err, out)
	}
}

// nothingLeft looks for what a node has outside of its state folder, and for that.
func nothingLeft(t *testing.T, name string) {
	t.Helper()
	for _, pattern := range []string{
		*state, "/run/netns/" + name, "/run/netns/" + name + "-*", "/sys/fs/cgroup/*/" + name, "/sys/fs/cgroup/" + name,
	} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("there is still %s", left)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || bytes.Contains(mounts, []byte(*state+"/")) {
		t.Errorf("mounts are left: %v", err)
	}
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, command := range commands {
		if content, _ := os.ReadFile(command); bytes.Contains(content, []byte(*state+"/")) {
			t.Errorf("a process is left: %s: %q", command, content)
		}
	}
}
