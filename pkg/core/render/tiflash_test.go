package render

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func podOfTiFlash(t *testing.T, c topology.Cluster) corev1.PodSpec {
	t.Helper()
	return setOf(t, want(t, c, nothing(), state.Snapshot{}), topology.TiFlash).Spec.Template.Spec
}

func mountsConfig(tc *v1alpha1.TidbCluster) {
	tc.Spec.TiFlash.Annotations = map[string]string{topology.AnnotationMountConfig: "true"}
}

func TestStartTiFlash(t *testing.T) {
	yes := true
	for name, tt := range map[string]struct {
		edit func(*v1alpha1.TidbCluster)
		env  []string
		want []string
	}{
		"with its own config file": {func(*v1alpha1.TidbCluster) {}, nil, []string{"server", "--config-file", "/data0/config.toml"}},
		"with the ConfigMap": {mountsConfig, nil, []string{
			"server", "--config-file", "/etc/tiflash/config_templ.toml", "--",
			"--flash.proxy.advertise-addr=basic-pd-1.basic-tiflash-peer.db.svc:20170",
			"--flash.service_addr=basic-pd-1.basic-tiflash-peer.db.svc:3930", "--raft.pd_addr=basic-pd:2379",
		}},
		"with labels and an advertised status": {
			func(tc *v1alpha1.TidbCluster) {
				mountsConfig(tc)
				tc.Spec.EnableDynamicConfiguration, tc.Spec.ClusterDomain = &yes, "a.example"
			},
			[]string{"POD_NAME=basic-tiflash-2", "STORE_LABELS=a=b"},
			[]string{
				"server", "--config-file", "/etc/tiflash/config_templ.toml", "--",
				"--flash.proxy.advertise-addr=basic-tiflash-2.basic-tiflash-peer.db.svc.a.example:20170",
				"--flash.proxy.advertise-status-addr=basic-tiflash-2.basic-tiflash-peer.db.svc.a.example:20292",
				"--flash.service_addr=basic-tiflash-2.basic-tiflash-peer.db.svc.a.example:3930", "--raft.pd_addr=basic-pd:2379",
				"--labels", "a=b",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			command := podOfTiFlash(t, load(t, "flash", tt.edit)).Containers[0].Command
			eachShell(t, func(t *testing.T, shell []string) {
				p := newPod(t, shell, command[2], "tiflash/tiflash")
				p.expect(tt.want, tt.env...)
			})
		})
	}
}

// TestInitTiFlash: each member gets config files with its own ordinal.
func TestInitTiFlash(t *testing.T) {
	command := podOfTiFlash(t, load(t, "flash")).InitContainers[0].Command
	eachShell(t, func(t *testing.T, shell []string) {
		root := t.TempDir()
		for file, text := range map[string]string{"etc/tiflash/config_templ.toml": "a-POD_NUM:1, POD_NUM", "etc/tiflash/proxy_templ.toml": "b-POD_NUM", "data0/config.toml": "of an earlier start"} {
			at := filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text := strings.NewReplacer("/etc/", root+"/etc/", "/data0", root+"/data0").Replace(command[2])
		cmd := exec.Command(shell[0], append(append([]string{}, shell[1:]...), "-c", text)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "POD_NAME=a-tiflash-12"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for file, want := range map[string]string{"config.toml": "a-12:1, 12", "proxy.toml": "b-12"} {
			if got, err := os.ReadFile(filepath.Join(root, "data0", file)); err != nil || string(got) != want {
				t.Errorf("%s: %s (%v), want %s", file, got, err, want)
			}
		}
	})
}

// TestKeptTiFlashScripts: a script in the pod template stays as long as it starts a member as the
// spec says. Another text would restart every pod.
func TestKeptTiFlashScripts(t *testing.T) {
	c := load(t, "flash")
	have := created(t, want(t, c, nothing(), state.Snapshot{}))
	live := have.Sets[topology.TiFlash]
	edit := func(main, init string) {
		applied, _ := lastApplied[appsv1.StatefulSetSpec](live.ObjectMeta)
		applied.Template.Spec.Containers[0].Command[2], applied.Template.Spec.InitContainers[0].Command[2] = main, init
		setLastApplied(&live.ObjectMeta, applied)
	}
	const main, init = "exec /tiflash/tiflash server --config-file /data0/config.toml", "cat >/data0/config.toml; cat >/data0/proxy.toml"
	for name, tt := range map[string]struct {
		main, init string
		edit       func(*v1alpha1.TidbCluster)
		kept       bool
	}{
		"others":                       {main, init, func(*v1alpha1.TidbCluster) {}, true},
		"one that writes another file": {main, "cat >/data0/config.toml", func(*v1alpha1.TidbCluster) {}, false},
		"one that reads another file":  {"exec /tiflash/tiflash server --config-file /data1/config.toml", init, func(*v1alpha1.TidbCluster) {}, false},
		"the ConfigMap is mounted now": {main, init, mountsConfig, false},
	} {
		t.Run(name, func(t *testing.T) {
			edit(tt.main, tt.init)
			pod := setOf(t, want(t, load(t, "flash", tt.edit), have, state.Snapshot{}), topology.TiFlash).Spec.Template.Spec
			kept := pod.Containers[0].Command[2] == tt.main && len(pod.InitContainers) > 0 && pod.InitContainers[0].Command[2] == tt.init
			if kept != tt.kept {
				t.Errorf("kept %t: %v", kept, pod.Containers[0].Command)
			}
		})
	}
}
