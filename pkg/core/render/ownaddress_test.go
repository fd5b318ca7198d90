package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// resolving gives a pod its addresses, and a name that leads to one address after the other, a line each time it is
// looked up. The programs are fakes of what images have.
func (p pod) resolving(own string, answers ...string) string {
	p.t.Helper()
	p.write("bin/hostname", "#!/bin/sh\n[ \"$1\" = -I ] && echo '"+own+"'\n")
	p.write("answers", strings.Join(answers, "\n")+"\n")
	p.write("bin/getent", "#!/bin/sh\n[ \"$1\" = ahosts ] || exit 1\necho \"$2\" >>"+p.root+"/asked\n"+
		"n=$(wc -l <"+p.root+"/asked)\nsed -n \"${n}p\" "+p.root+"/answers | tr ' ' '\\n' | sed 's/$/ STREAM/'\n")
	for _, program := range []string{"hostname", "getent"} {
		if err := os.Chmod(filepath.Join(p.root, "bin", program), 0o755); err != nil {
			p.t.Fatal(err)
		}
	}
	return "PATH=" + filepath.Join(p.root, "bin") + ":" + os.Getenv("PATH")
}

func waiting(tc *v1alpha1.TidbCluster) {
	tc.Spec.StartScriptVersion = v1alpha1.StartScriptV2
	tc.Spec.StartScriptV2FeatureFlags = []v1alpha1.StartScriptV2FeatureFlag{v1alpha1.StartScriptV2FeatureFlagWaitForDnsNameIpMatch}
}

func TestStartWaitsForOwnAddress(t *testing.T) {
	eachShell(t, func(t *testing.T, shell []string) {
		for k, server := range map[topology.Kind]string{topology.PD: "pd-server", topology.TiKV: "tikv-server"} {
			script := strings.Replace(scriptOf(t, load(t, "basic", waiting), k), "sleep 1 &", "sleep 0.01 &", 1)
			pod, domain := "basic-"+string(k)+"-0", "basic-"+string(k)+"-0.basic-"+string(k)+"-peer.db.svc"

			p := newPod(t, shell, script, server)
			p.write("var/lib/pd/member/wal/x", "")
			path := p.resolving("10.0.0.4 fd00::4", "", "10.0.0.3", "10.0.0.41 10.0.0.3", "10.0.0.3 fd00::4")
			p.run(path, "HOSTNAME="+pod, "CAPACITY=0")
			asked, err := os.ReadFile(filepath.Join(p.root, "asked"))
			if err != nil || string(asked) != strings.Repeat(domain+"\n", 4) {
				t.Errorf("%s asked for %q, %v", k, asked, err)
			}

			p = newPod(t, shell, strings.ReplaceAll(script, "-ge 30", "-ge 0"), server)
			out, err := p.command(t.Context(), p.resolving("10.0.0.4", "10.0.0.3"), "HOSTNAME="+pod, "CAPACITY=0").CombinedOutput()
			if want := domain + " does not lead to this pod ( 10.0.0.4 )"; err == nil || !strings.Contains(string(out), want) {
				t.Errorf("%s, out of time: %v: %s", k, err, out)
			}
		}
	})
}

// With a domain the name of the pod is in its /etc/hosts, so that it is asked for as DNS has it.
func TestOwnAddressInADomain(t *testing.T) {
	inDomain := func(tc *v1alpha1.TidbCluster) { waiting(tc); tc.Spec.ClusterDomain = "cluster.local" }
	p := newPod(t, []string{"sh"}, scriptOf(t, load(t, "basic", inDomain), topology.TiKV), "tikv-server")
	p.run(p.resolving("10.0.0.4", "10.0.0.4"), "HOSTNAME=basic-tikv-0", "CAPACITY=0")
	asked, err := os.ReadFile(filepath.Join(p.root, "asked"))
	if err != nil || string(asked) != "basic-tikv-0.basic-tikv-peer.db.svc.cluster.local.\n" {
		t.Errorf("asked for %q, %v", asked, err)
	}
}

// TestNoWaitForOwnAddress: NoWaitDNS wins over the flag that asks for the wait, for PD alone.
func TestNoWaitForOwnAddress(t *testing.T) {
	quick := func(tc *v1alpha1.TidbCluster) {
		waiting(tc)
		tc.Spec.StartScriptV2FeatureFlags = append(tc.Spec.StartScriptV2FeatureFlags, v1alpha1.StartScriptV2FeatureFlagNoWaitDNS)
	}
	for k, waits := range map[topology.Kind]bool{topology.PD: false, topology.TiKV: true} {
		if got := strings.Contains(scriptOf(t, load(t, "basic", quick), k), "getent"); got != waits {
			t.Errorf("%s waits: %t", k, got)
		}
	}
}

// TestBashShebang: the flag changes the first line of PD's script in the second generation only. A script in use stays:
// PD would restart for a line that nothing reads.
func TestBashShebang(t *testing.T) {
	bash := func(tc *v1alpha1.TidbCluster) {
		tc.Spec.StartScriptVersion = v1alpha1.StartScriptV2
		tc.Spec.StartScriptV2FeatureFlags = []v1alpha1.StartScriptV2FeatureFlag{v1alpha1.StartScriptV2FeatureFlagBashShebang}
	}
	first := func(tc *v1alpha1.TidbCluster) { bash(tc); tc.Spec.StartScriptVersion = v1alpha1.StartScriptV1 }
	for line, change := range map[string]func(*v1alpha1.TidbCluster){"#!/bin/bash": bash, "#!/bin/sh": first} {
		if script := scriptOf(t, load(t, "basic", change), topology.PD); !strings.HasPrefix(script, line+"\n") {
			t.Errorf("not %s: %.30s", line, script)
		}
	}
	c := load(t, "basic", bash)
	g, _ := c.Group(topology.PD)
	comp, err := descriptionOf(topology.PD).objects(c, g, nothing())
	if err != nil || !comp.script.startsAsWanted(scriptOf(t, load(t, "basic"), topology.PD)) {
		t.Errorf("the script in use is replaced (%v)", err)
	}
}

// A script of ours is replaced when the flag is set or taken away; one of tidb-operator's that is in use is kept.
func TestOwnAddressAndScriptsInUse(t *testing.T) {
	for _, k := range []topology.Kind{topology.PD, topology.TiKV} {
		without, with := load(t, "basic"), load(t, "basic", waiting)
		g, _ := with.Group(k)
		comp, err := descriptionOf(k).objects(with, g, nothing())
		if err != nil {
			t.Fatal(err)
		}
		if comp.script.startsAsWanted(scriptOf(t, without, k)) || !comp.script.startsAsWanted(scriptOf(t, with, k)) {
			t.Errorf("%s: the flag makes no difference", k)
		}
	}
	first := func(tc *v1alpha1.TidbCluster) { waiting(tc); tc.Spec.StartScriptVersion = v1alpha1.StartScriptV1 }
	if scriptOf(t, load(t, "basic", first), topology.TiKV) != scriptOf(t, load(t, "basic"), topology.TiKV) {
		t.Error("the flag of the second generation changes a script of the first")
	}
}
