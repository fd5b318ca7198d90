package render

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// pod is a directory in which a start script runs as it would in a container:
// every absolute path of the script is below it, and the server is a fake that
// prints its arguments, one a line.
type pod struct {
	t     *testing.T
	root  string
	shell []string
}

// eachShell runs a test with every shell on this machine that an image may have as its /bin/sh.
func eachShell(t *testing.T, test func(t *testing.T, shell []string)) {
	t.Helper()
	for _, shell := range [][]string{{"sh"}, {"busybox", "sh"}, {"dash"}, {"bash", "--posix"}} {
		if _, err := exec.LookPath(shell[0]); err != nil {
			continue
		}
		t.Run(shell[0], func(t *testing.T) {
			t.Parallel()
			test(t, shell)
		})
	}
}

func newPod(t *testing.T, shell []string, script, server string) pod {
	t.Helper()
	p := pod{t, t.TempDir(), shell}
	script = strings.NewReplacer(
		"/etc/", p.root+"/etc/",
		"/var/lib/", p.root+"/var/lib/",
		"exec /"+server, "exec "+p.root+"/"+server,
		"pause 1\n", "pause 0.1\n",
		" 3600", " 5", // in a container all processes end with the first one, here its sleep does not
	).Replace(script)
	p.write("start.sh", script)
	p.write(server, "#!/bin/sh\nprintf '%s\\n' RUN \"$@\"\n")
	if err := os.Chmod(filepath.Join(p.root, server), 0o755); err != nil {
		t.Fatal(err)
	}
	p.write("etc/podinfo/annotations", "prometheus.io/port=\"2379\"\nevil=\"$(touch "+p.root+"/evil)\"")
	return p
}

func (p pod) write(file, content string) {
	p.t.Helper()
	path := filepath.Join(p.root, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	// A process that another test starts at this time would keep the file open for writing, and
	// Linux does not execute such a file ("text file busy").
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p pod) command(ctx context.Context, env ...string) *exec.Cmd {
	args := append(append([]string{}, p.shell[1:]...), filepath.Join(p.root, "start.sh"))
	cmd := exec.CommandContext(ctx, p.shell[0], args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOSTNAME=basic-pd-1"}, env...)
	return cmd
}

// run returns the server's arguments, with the paths of a container.
func (p pod) run(env ...string) []string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Second)
	defer cancel()
	cmd := p.command(ctx, env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("%v: %s%s", err, out, stderr.String())
	}
	if stderr.Len() > 0 {
		p.t.Errorf("complaint: %s", stderr.String())
	}
	_, args, ran := strings.Cut(strings.ReplaceAll(string(out), p.root, ""), "RUN\n")
	if !ran {
		p.t.Fatalf("the server did not run: %s", out)
	}
	return strings.Split(strings.TrimSuffix(args, "\n"), "\n")
}

func (p pod) expect(want []string, env ...string) {
	p.t.Helper()
	got := p.run(env...)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		p.t.Errorf("arguments\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func scriptOf(t *testing.T, c topology.Cluster, k topology.Kind) string {
	t.Helper()
	return configOf(t, want(t, c, nothing(), state.Snapshot{}), k).Data[keyScript]
}

var pdArguments = []string{
	"--data-dir=/var/lib/pd",
	"--name=basic-pd-1",
	"--peer-urls=http://0.0.0.0:2380",
	"--advertise-peer-urls=http://basic-pd-1.basic-pd-peer.db.svc:2380",
	"--client-urls=http://0.0.0.0:2379",
	"--advertise-client-urls=http://basic-pd-1.basic-pd-peer.db.svc:2379",
	"--config=/etc/pd/pd.toml",
}

func pdWith(last ...string) []string { return append(append([]string{}, pdArguments...), last...) }

func TestStartPD(t *testing.T) {
	eachShell(t, func(t *testing.T, shell []string) {
		const initial = "basic-pd-0=http://basic-pd-0.basic-pd-peer.db.svc:2380,basic-pd-1=http://basic-pd-1.basic-pd-peer.db.svc:2380"
		const own = "http://basic-pd-1.basic-pd-peer.db.svc:2379"
		for name, tt := range map[string]struct {
			files map[string]string
			want  []string
		}{
			"data": {
				files: map[string]string{"var/lib/pd/member/wal/0.wal": "", "etc/pd-bootstrap/initial-cluster": initial},
				want:  pdWith(),
			},
			"joined before": {
				files: map[string]string{
					"var/lib/pd/member/wal/0.wal": "",
					"var/lib/pd/join":             "a=http://a:2380,b=http://b:2380",
				},
				want: pdWith("--join=http://a:2380,http://b:2380"),
			},
			"first members": {
				files: map[string]string{"etc/pd-bootstrap/initial-cluster": initial},
				want:  pdWith("--initial-cluster=" + initial),
			},
			"new member": {
				files: map[string]string{"etc/pd-bootstrap/cluster-id": "7", "etc/pd-bootstrap/join": "http://a:2379,http://b:2379\n"},
				want:  pdWith("--join=http://a:2379,http://b:2379"),
			},
			"not by itself": {
				files: map[string]string{"etc/pd-bootstrap/cluster-id": "7", "etc/pd-bootstrap/join": "http://a:2379," + own},
				want:  pdWith("--join=http://a:2379"),
			},
			"first member that comes late": {
				files: map[string]string{
					"etc/pd-bootstrap/not-started":     "basic-pd-0,basic-pd-1",
					"etc/pd-bootstrap/initial-cluster": initial,
					"etc/pd-bootstrap/cluster-id":      "7",
					"etc/pd-bootstrap/join":            "http://a:2379",
				},
				want: pdWith("--initial-cluster=" + initial),
			},
			"another one comes late": {
				files: map[string]string{
					"etc/pd-bootstrap/not-started":     "basic-pd-11,xbasic-pd-1",
					"etc/pd-bootstrap/initial-cluster": initial,
					"etc/pd-bootstrap/cluster-id":      "7",
					"etc/pd-bootstrap/join":            "http://a:2379",
				},
				want: pdWith("--join=http://a:2379"),
			},
			"late, and has come before": {
				files: map[string]string{
					"var/lib/pd/member/wal/0.wal":      "",
					"etc/pd-bootstrap/not-started":     "basic-pd-1",
					"etc/pd-bootstrap/initial-cluster": initial,
				},
				want: pdWith(),
			},
			// A mount that is being updated can show both for a moment.
			"late, and the list is gone": {
				files: map[string]string{
					"etc/pd-bootstrap/not-started": "basic-pd-1",
					"etc/pd-bootstrap/cluster-id":  "7",
					"etc/pd-bootstrap/join":        "http://a:2379",
				},
				want: pdWith("--join=http://a:2379"),
			},
			"never again": {
				files: map[string]string{
					"etc/pd-bootstrap/initial-cluster": initial,
					"etc/pd-bootstrap/cluster-id":      "7",
					"etc/pd-bootstrap/join":            "http://a:2379",
				},
				want: pdWith("--join=http://a:2379"),
			},
		} {
			t.Run(name, func(t *testing.T) {
				p := newPod(t, shell, scriptOf(t, load(t, "basic"), topology.PD), "pd-server")
				for file, content := range tt.files {
					p.write(file, content)
				}
				p.expect(tt.want)
				if _, err := os.Stat(filepath.Join(p.root, "evil")); err == nil {
					t.Error("an annotation was run as a command")
				}
			})
		}
	})
}

// A pod that does not know what to do waits, says why, and goes on by itself.
func TestPDWaits(t *testing.T) {
	eachShell(t, func(t *testing.T, shell []string) {
		for name, tt := range map[string]struct {
			files map[string]string
			why   string
		}{
			"nothing":      {nil, "nothing in /etc/pd-bootstrap says"},
			"not named":    {map[string]string{"initial-cluster": "basic-pd-10=http://x:2380,xbasic-pd-1=http://x:2380"}, "basic-pd-1 is none of them"},
			"lost its own": {map[string]string{"cluster-id": "7", "join": "http://basic-pd-1.basic-pd-peer.db.svc:2379"}, "cluster 7 exists"},
			"no member":    {map[string]string{"cluster-id": "7", "initial-cluster": "basic-pd-1=http://x:2380"}, "cluster 7 exists"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newPod(t, shell, scriptOf(t, load(t, "basic"), topology.PD), "pd-server")
				for file, content := range tt.files {
					p.write("etc/pd-bootstrap/"+file, content)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				cmd := p.command(ctx)
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				lines := bufio.NewScanner(out)
				lines.Scan()
				if line := strings.ReplaceAll(lines.Text(), p.root, ""); !strings.HasPrefix(line, "waiting: ") || !strings.Contains(line, tt.why) {
					t.Errorf("printed %q, want %q", line, tt.why)
				}
				p.write("etc/pd-bootstrap/join", "http://a:2379")
				lines.Scan()
				if line := lines.Text(); !strings.Contains(line, "/pd-server") || !strings.HasSuffix(line, "--join=http://a:2379") {
					t.Errorf("then printed %q", line)
				}
				for lines.Scan() {
				}
				if err := cmd.Wait(); err != nil {
					t.Error(err)
				}
			})
		}
	})
}

// The first process of a container ignores SIGTERM unless it says otherwise, and
// a pod that waits would take its whole grace period to go.
func TestWaitingPodEndsAtOnce(t *testing.T) {
	eachShell(t, func(t *testing.T, shell []string) {
		for name, annotations := range map[string]string{
			"no bootstrap": "a=\"b\"",
			"debug":        "a=\"b\"\nrunmode=\"debug\"",
		} {
			t.Run(name, func(t *testing.T) {
				p := newPod(t, shell, scriptOf(t, load(t, "basic"), topology.PD), "pd-server")
				p.write("etc/podinfo/annotations", annotations)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				cmd := p.command(ctx)
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				bufio.NewScanner(out).Scan()
				if err := cmd.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
				begin := time.Now()
				_ = cmd.Wait()
				if code := cmd.ProcessState.ExitCode(); code != 143 {
					t.Errorf("ended with %d", code)
				}
				if waited := time.Since(begin); waited > 3*time.Second {
					t.Errorf("ended after %s", waited)
				}
			})
		}
	})
}

func TestStartTiKV(t *testing.T) {
	eachShell(t, func(t *testing.T, shell []string) {
		p := newPod(t, shell, scriptOf(t, load(t, "basic"), topology.TiKV), "tikv-server")
		basic := []string{
			"--pd=http://basic-pd:2379",
			"--advertise-addr=basic-tikv-0.basic-tikv-peer.db.svc:20160",
			"--addr=0.0.0.0:20160",
			"--status-addr=0.0.0.0:20180",
			"--data-dir=/var/lib/tikv",
			"--capacity=10GB",
			"--config=/etc/tikv/tikv.toml",
		}
		p.expect(basic, "HOSTNAME=basic-tikv-0", "CAPACITY=10GB")
		t.Run("tikv-11-24 store labels", func(t *testing.T) {
			v2 := func(tc *v1alpha1.TidbCluster) { tc.Spec.StartScriptVersion = v1alpha1.StartScriptV2 }
			p := newPod(t, shell, scriptOf(t, load(t, "basic", v2), topology.TiKV), "tikv-server")
			p.expect(append(basic, "--labels", "zone=a,host=b c"), "HOSTNAME=basic-tikv-0", "CAPACITY=10GB", "STORE_LABELS=zone=a,host=b c")
		})

		p = newPod(t, shell, scriptOf(t, load(t, "rich"), topology.TiKV), "tikv-server")
		p.expect([]string{
			"--pd=http://rich-pd:2379",
			"--advertise-addr=rich-tikv-2.rich-tikv-peer.prod.svc.cluster.local:20160",
			"--addr=[::]:20160",
			"--status-addr=[::]:20180",
			"--advertise-status-addr=rich-tikv-2.rich-tikv-peer.prod.svc.cluster.local:20180",
			"--data-dir=/var/lib/tikv/sub/data",
			"--capacity=0",
			"--config=/etc/tikv/tikv.toml",
		}, "POD_NAME=rich-tikv-2", "CAPACITY=0")
	})
}

func TestStartTiDB(t *testing.T) {
	eachShell(t, func(t *testing.T, shell []string) {
		p := newPod(t, shell, scriptOf(t, load(t, "basic"), topology.TiDB), "tidb-server")
		basic := []string{
			"--store=tikv",
			"--advertise-address=basic-tidb-0.basic-tidb-peer.db.svc",
			"--host=0.0.0.0",
			"--path=basic-pd:2379",
			"--config=/etc/tidb/tidb.toml",
		}
		p.expect(basic, "POD_NAME=basic-tidb-0", "BINLOG_ENABLED=false", "SLOW_LOG_FILE=")
		p.expect(append(basic, "--log-slow-query=/slow log"), "POD_NAME=basic-tidb-0", "SLOW_LOG_FILE=/slow log")

		p = newPod(t, shell, scriptOf(t, load(t, "rich"), topology.TiDB), "tidb-server")
		p.expect([]string{
			"--store=tikv",
			"--advertise-address=rich-tidb-0.rich-tidb-peer.prod.svc.cluster.local",
			"--host=0.0.0.0",
			"--path=rich-pd:2379",
			"--config=/etc/tidb/tidb.toml",
			"--plugin-dir=/plugins",
			"--plugin-load=whitelist-1,audit-1",
			"--enable-metrics",
			"--metrics-interval=15",
		}, "POD_NAME=rich-tidb-0")
	})
}

// Without the pod's annotations it is not known whether it is to be debugged.
func TestStartNeedsAnnotations(t *testing.T) {
	eachShell(t, func(t *testing.T, shell []string) {
		for _, k := range basicKinds {
			p := newPod(t, shell, scriptOf(t, load(t, "basic"), k), string(k)+"-server")
			if err := os.Remove(filepath.Join(p.root, "etc/podinfo/annotations")); err != nil {
				t.Fatal(err)
			}
			out, err := p.command(t.Context(), "CAPACITY=0").CombinedOutput()
			if err == nil || !strings.Contains(string(out), "no pod annotations") {
				t.Errorf("%s: %v, %s", k, err, out)
			}
		}
	})
}
