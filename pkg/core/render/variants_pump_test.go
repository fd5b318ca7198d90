package render

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// pumpOfOperator is what an operator's pods of Pump depend on, beside their flags.
type pumpOfOperator struct {
	second bool // generation of start scripts
	tls    bool
}

// startPump gives Pump its volumes and its command, which is in the pod template.
func (o *objectsOfOperator) startPump() {
	pod, main := o.pod(topology.Pump), o.main(topology.Pump)
	if o.pump.tls {
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "pump-tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "basic-pump-cluster-secret"}}})
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: "pump-tls", ReadOnly: true, MountPath: "/var/lib/pump-tls"})
	}
	if o.pump.second {
		pod.Volumes = append(pod.Volumes, o.pod(topology.PD).Volumes[0])
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: "annotations", ReadOnly: true, MountPath: "/etc/podinfo"})
		o.replaceFlag(topology.Pump, "-L=", "-L ")
		o.replaceFlag(topology.Pump, "`echo ${HOSTNAME}`", "${PUMP_POD_NAME}")
	}
	main.Command = []string{"/bin/sh", "-c", "/pump " + strings.Join(o.flags[topology.Pump], " \\\n")}
}

func ofPump() []variant {
	const kind = topology.Pump
	yes := true
	pump := func(name string, spec func(*v1alpha1.PumpSpec), fact func(*objectsOfOperator)) variant {
		return variant{"pump." + name, "pump." + name, func(tc *v1alpha1.TidbCluster) { spec(tc.Spec.Pump) }, fact}
	}
	return []variant{
		pump("serviceAccount", func(s *v1alpha1.PumpSpec) { s.ServiceAccount = "x" }, func(o *objectsOfOperator) { o.pod(kind).ServiceAccountName = "x" }),
		pump("limits", func(s *v1alpha1.PumpSpec) { s.Limits = limited(corev1.ResourceCPU, "1") }, func(o *objectsOfOperator) {
			o.main(kind).Resources.Limits = limited(corev1.ResourceCPU, "1")
		}),
		pump("setTimeZone", func(s *v1alpha1.PumpSpec) { s.SetTimeZone = &yes }, func(o *objectsOfOperator) {
			env := []corev1.EnvVar{value("TZ", "")}
			for _, e := range o.main(topology.PD).Env {
				if e.Name == "TZ" {
					env[0].Value = e.Value
				}
			}
			for _, e := range o.main(kind).Env {
				if e.Name != "TZ" {
					env = append(env, e)
				}
			}
			o.main(kind).Env = env
		}),
		pump("storageClassName", func(s *v1alpha1.PumpSpec) { s.StorageClassName = ptr("fast") }, func(o *objectsOfOperator) {
			o.sets[kind].VolumeClaimTemplates[0].Spec.StorageClassName = ptr("fast")
		}),
		pump("readinessProbe", func(s *v1alpha1.PumpSpec) { s.ReadinessProbe = &v1alpha1.Probe{PeriodSeconds: ptr(int32(7))} }, none),
		pump("config", func(s *v1alpha1.PumpSpec) { s.Config.Set("log-level", "warn") }, func(o *objectsOfOperator) {
			o.config[kind]["log-level"] = "warn"
			o.replaceFlag(kind, "-L=info", "-L=warn")
		}),
		{"tidb.binlogEnabled", "tidb.binlogEnabled", func(tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.BinlogEnabled = new(bool) }, func(o *objectsOfOperator) {
			o.setEnv(topology.TiDB, "BINLOG_ENABLED", "false")
			o.replaceFlag(topology.TiDB, "--enable-binlog=true", "")
		}},
	}
}

// TestPumpCommand: another command line is a restart, and the same one in other words is none.
func TestPumpCommand(t *testing.T) {
	fits := func(edit func(*v1alpha1.TidbCluster), text string) bool {
		c := load(t, "basic", withPumps, edit)
		g, _ := c.Group(topology.Pump)
		comp, err := describePump(c, g, nothing())
		if err != nil {
			t.Fatal(err)
		}
		return comp.inline[0].script.startsAsWanted(text)
	}
	level := func(tc *v1alpha1.TidbCluster) { tc.Spec.Pump.Config.Set("log-level", "warn") }
	const first = "set -euo pipefail\n\n/pump \\\n-pd-urls=http://basic-pd:2379 \\\n-L=info \\\n-log-file=\n"
	const second = "ARGS=\"-pd-urls=http://basic-pd:2379 \\\n-L info \\\n-log-file= \\\n\"\nexec /pump ${ARGS}\n"
	for _, text := range []string{first, second} {
		if !fits(func(*v1alpha1.TidbCluster) {}, text) {
			t.Errorf("does not fit: %s", text)
		}
		if fits(level, text) {
			t.Errorf("fits another level: %s", text)
		}
		if fits(func(tc *v1alpha1.TidbCluster) { tc.Spec.ClusterDomain = "a.example" }, text) {
			t.Errorf("fits another domain: %s", text)
		}
	}
}

// TestTiDBBinlog: an operator's script that says whether there is a binlog must say the right thing; one
// that reads it from the environment fits in any case, as ours do.
func TestTiDBBinlog(t *testing.T) {
	const reads = "if [[ X${BINLOG_ENABLED:-} == Xtrue ]]\nthen\n ARGS=\"${ARGS} --enable-binlog=true\"\nfi\nexec /tidb-server ${ARGS}\n"
	const writes = "ARGS=\"--store=tikv --enable-binlog=true\"\nexec /tidb-server ${ARGS}\n"
	const without = "ARGS=\"--store=tikv\"\nexec /tidb-server ${ARGS}\n"
	for _, tt := range []struct {
		text    string
		enabled bool
		fits    bool
	}{
		{reads, true, true}, {reads, false, true}, {writes, true, true}, {writes, false, false}, {without, true, false}, {without, false, true},
	} {
		c := load(t, "basic", func(tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.BinlogEnabled = &tt.enabled })
		if got := tidbScript(c, c.Source.Spec.TiDB).startsAsWanted(tt.text); got != tt.fits {
			t.Errorf("with a binlog (%t) it fits: %t\n%s", tt.enabled, got, tt.text)
		}
		own, err := tidbScript(c, c.Source.Spec.TiDB).text()
		other := !tt.enabled
		c.Source.Spec.TiDB.BinlogEnabled = &other
		if err != nil || !tidbScript(c, c.Source.Spec.TiDB).startsAsWanted(own) {
			t.Errorf("our own script does not fit both ways: %v", err)
		}
	}
}

// TestPumpOrder: unlike other components, Pump's pods are made one after the other, unless the spec says
// something else.
func TestPumpOrder(t *testing.T) {
	for want, edit := range map[appsv1.PodManagementPolicyType]func(*v1alpha1.TidbCluster){
		appsv1.OrderedReadyPodManagement: func(*v1alpha1.TidbCluster) {},
		appsv1.ParallelPodManagement:     func(tc *v1alpha1.TidbCluster) { tc.Spec.PodManagementPolicy = appsv1.ParallelPodManagement },
	} {
		w := pumpSet(t, edit)
		if got := w.Spec.PodManagementPolicy; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func pumpSet(t *testing.T, edit func(*v1alpha1.TidbCluster)) *appsv1.StatefulSet {
	t.Helper()
	return setOf(t, want(t, load(t, "basic", withPumps, edit), nothing(), state.Snapshot{}), topology.Pump)
}

// pumpPod is a pod of Pump with a program of the test in place of Pump.
func pumpPod(t *testing.T, shell []string, program string, edits ...func(*v1alpha1.TidbCluster)) pod {
	t.Helper()
	w := want(t, load(t, "basic", append(edits, withPumps)...), nothing(), state.Snapshot{})
	text := setOf(t, w, topology.Pump).Spec.Template.Spec.Containers[0].Command[2]
	p := newPod(t, shell, text, "pump")
	script, err := os.ReadFile(filepath.Join(p.root, "start.sh"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("start.sh", strings.ReplaceAll(string(script), "\n/pump ", "\n"+p.root+"/pump "))
	p.write("pump", "#!/bin/sh\n"+program)
	return p
}

// TestStartPump: the start script starts Pump as the spec says, in each shell. One that ends without an
// error is not started again (tidb-S8), and a signal ends it and the container.
func TestStartPump(t *testing.T) {
	eachShell(t, func(t *testing.T, shell []string) {
		v2 := func(tc *v1alpha1.TidbCluster) { tc.Spec.StartScriptVersion = v1alpha1.StartScriptV2 }
		for _, edit := range []func(*v1alpha1.TidbCluster){func(*v1alpha1.TidbCluster) {}, v2} {
			p := pumpPod(t, shell, "printf '%s\\n' RUN \"$@\"; exit 3\n", edit)
			out, err := p.command(t.Context(), "HOSTNAME=basic-pump-0").Output()
			want := "RUN\n-pd-urls=http://basic-pd:2379\n-L=info\n-log-file=\n-addr=0.0.0.0:8250\n-advertise-addr=basic-pump-0.basic-pump:8250\n-data-dir=/data\n-config=/etc/pump/pump.toml\n"
			var code *exec.ExitError
			if !strings.HasSuffix(strings.ReplaceAll(string(out), p.root, ""), want) || !errors.As(err, &code) || code.ExitCode() != 3 {
				t.Errorf("%v\n%s", err, out)
			}
		}
		for name, program := range map[string]string{
			"it was closed":         "echo closed\n",
			"it runs":               "trap 'echo ended; exit 0' TERM\necho closed\nwhile :; do sleep 0.05; done\n",
			"it ends with an error": "trap 'exit 7' TERM\necho closed\nwhile :; do sleep 0.05; done\n",
		} {
			terminated(t, name, pumpPod(t, shell, program).command(t.Context(), "HOSTNAME=basic-pump-0"))
		}
	})
}

// terminated ends a container that has printed "closed" and must still run.
func terminated(t *testing.T, name string, cmd *exec.Cmd) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	var said string
	buffer := make([]byte, 4096)
	last := "\nclosed\n"
	if name == "it was closed" {
		last = "is deleted\n"
	}
	for !strings.HasSuffix(said, last) {
		n, err := out.Read(buffer)
		if said += string(buffer[:n]); err != nil {
			t.Fatalf("%s: ended after %q", name, said)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	err = cmd.Wait()
	wanted := 0
	if name == "it ends with an error" {
		wanted = 7
	}
	if cmd.ProcessState.ExitCode() != wanted {
		t.Errorf("%s: it ends with %v, want %d", name, err, wanted)
	}
}
