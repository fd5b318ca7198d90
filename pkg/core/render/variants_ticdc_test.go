package render

import (
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// ticdcOfOperator is what an operator's pods of TiCDC depend on, beside their flags.
type ticdcOfOperator struct {
	annotations bool
	tls         bool
	sinks       []string // Secrets with certificates
}

// startTiCDC gives TiCDC its volumes and its command, which is in the pod template.
func (o *objectsOfOperator) startTiCDC() {
	pod, main := o.pod(topology.TiCDC), o.main(topology.TiCDC)
	flags := o.flags[topology.TiCDC]
	var volumes []corev1.Volume
	var mounts []corev1.VolumeMount
	secret := func(name, secret, dir string) {
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}})
		mounts = append(mounts, corev1.VolumeMount{Name: name, ReadOnly: true, MountPath: dir})
	}
	if o.ticdc.annotations {
		volumes = append(volumes, o.pod(topology.PD).Volumes[0])
		mounts = append(mounts, corev1.VolumeMount{Name: "annotations", ReadOnly: true, MountPath: "/etc/podinfo"})
	}
	if o.ticdc.tls {
		secret("ticdc-tls", "basic-ticdc-cluster-secret", "/var/lib/ticdc-tls")
		secret("cluster-client-tls", "basic-cluster-client-secret", "/var/lib/cluster-client-tls")
		flags = append(flags, "--ca=/var/lib/ticdc-tls/ca.crt", "--cert=/var/lib/ticdc-tls/tls.crt", "--key=/var/lib/ticdc-tls/tls.key")
	}
	volumes, mounts = append(volumes, pod.Volumes...), append(mounts, main.VolumeMounts...)
	if len(o.config[topology.TiCDC]) > 0 {
		volumes = append(volumes, corev1.Volume{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "basic-ticdc"}, Items: []corev1.KeyToPath{{Key: "config-file", Path: "ticdc.toml"}},
		}}})
		mounts = append(mounts, corev1.VolumeMount{Name: "config", ReadOnly: true, MountPath: "/etc/ticdc"})
		flags = append(flags, "--config=/etc/ticdc/ticdc.toml")
	}
	for _, s := range o.ticdc.sinks {
		secret(s, s, "/var/lib/sink-tls/"+s)
	}
	pod.Volumes, main.VolumeMounts = volumes, mounts
	main.Command = []string{"/bin/sh", "-c", "/cdc server " + strings.Join(flags, " ")}
}

func ofTiCDC() []variant {
	const kind = topology.TiCDC
	cdc := func(name string, spec func(*v1alpha1.TiCDCSpec), fact func(*objectsOfOperator)) variant {
		return variant{"ticdc." + name, "ticdc." + name, func(tc *v1alpha1.TidbCluster) { spec(tc.Spec.TiCDC) }, fact}
	}
	return []variant{
		cdc("serviceAccount", func(s *v1alpha1.TiCDCSpec) { s.ServiceAccount = "x" }, func(o *objectsOfOperator) { o.pod(kind).ServiceAccountName = "x" }),
		cdc("limits", func(s *v1alpha1.TiCDCSpec) { s.Limits = limited(corev1.ResourceCPU, "1") }, func(o *objectsOfOperator) {
			o.main(kind).Resources.Limits = limited(corev1.ResourceCPU, "1")
		}),
		cdc("readinessProbe", func(s *v1alpha1.TiCDCSpec) { s.ReadinessProbe = &v1alpha1.Probe{} }, none),
		cdc("gracefulShutdownTimeout", func(s *v1alpha1.TiCDCSpec) { s.GracefulShutdownTimeout = &metav1.Duration{Duration: time.Minute} }, none),
		cdc("tlsClientSecretNames", func(s *v1alpha1.TiCDCSpec) { s.TLSClientSecretNames = []string{"kafka", "mysql"} }, func(o *objectsOfOperator) {
			o.ticdc.sinks = []string{"kafka", "mysql"}
		}),
		cdc("options", func(s *v1alpha1.TiCDCSpec) {
			s.Config.Set("tz", "Asia/Shanghai")
			s.Config.Set("gc-ttl", int64(3600))
			s.Config.Set("log-file", "/var/log/cdc.log")
			s.Config.Set("log-level", "warn")
		}, optionsOfTiCDC),
		cdc("config", func(s *v1alpha1.TiCDCSpec) { s.Config.Set("capture-session-ttl", int64(20)) }, func(o *objectsOfOperator) {
			o.ticdcSetting("capture-session-ttl", int64(20))
			if o.main(kind).Env[3].Value == "Asia/Shanghai" {
				optionsOfTiCDC(o)
			}
		}),
	}
}

// optionsOfTiCDC are those that are arguments. They are in the configuration as well, if there is one.
func optionsOfTiCDC(o *objectsOfOperator) {
	o.setEnv(topology.TiCDC, "TZ", "Asia/Shanghai")
	for old, text := range map[string]string{"--gc-ttl=86400": "--gc-ttl=3600", "--log-level=info": "--log-level=warn"} {
		o.replaceFlag(topology.TiCDC, old, text)
	}
	for i, f := range o.flags[topology.TiCDC] {
		if f == "--log-file=" {
			o.flags[topology.TiCDC][i] = "--log-file=/var/log/cdc.log"
		}
	}
	if len(o.config[topology.TiCDC]) > 0 {
		o.ticdcSetting("tz", "Asia/Shanghai")
		o.ticdcSetting("gc-ttl", int64(3600))
		o.ticdcSetting("log-file", "/var/log/cdc.log")
		o.ticdcSetting("log-level", "warn")
	}
}

func (o *objectsOfOperator) ticdcSetting(key string, value any) {
	if o.config[topology.TiCDC] == nil {
		o.config[topology.TiCDC] = map[string]any{}
	}
	o.config[topology.TiCDC][key] = value
}

// TestTiCDCCommand: another command line is a restart, and the same one in other words is none.
func TestTiCDCCommand(t *testing.T) {
	fits := func(edit func(*v1alpha1.TidbCluster), text string) bool {
		c := load(t, "basic", withCaptures, edit)
		g, _ := c.Group(topology.TiCDC)
		comp, err := describeTiCDC(c, g, nothing())
		if err != nil {
			t.Fatal(err)
		}
		return comp.inline[0].script.startsAsWanted(text)
	}
	set := func(key string, value any) func(*v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) { tc.Spec.TiCDC.Config.Set(key, value) }
	}
	const second = "ARGS=\"--addr=0.0.0.0:8301 \\\n--gc-ttl=86400 \\\n--log-file= \\\n--log-level=info \\\n--pd=${pd}\"\nexec /cdc server ${ARGS}\n"
	for name, tt := range map[string]struct {
		edit func(*v1alpha1.TidbCluster)
		fits bool
	}{
		"the same":           {func(*v1alpha1.TidbCluster) {}, true},
		"another gc-ttl":     {set("gc-ttl", int64(1)), false},
		"another level":      {set("log-level", "warn"), false},
		"a file":             {set("log-file", "/a"), false},
		"a configuration":    {set("capture-session-ttl", int64(1)), false},
		"certificates":       {func(tc *v1alpha1.TidbCluster) { tc.Spec.TLSCluster = &v1alpha1.TLSCluster{Enabled: true} }, false},
		"another domain":     {func(tc *v1alpha1.TidbCluster) { tc.Spec.ClusterDomain = "a.example" }, false},
		"another time zone":  {set("tz", "UTC"), true}, // it is in the environment
		"another Secret too": {func(tc *v1alpha1.TidbCluster) { tc.Spec.TiCDC.TLSClientSecretNames = []string{"x"} }, true},
	} {
		if got := fits(tt.edit, second); got != tt.fits {
			t.Errorf("%s: fits %t", name, got)
		}
	}
}

// TestTiCDCWithoutConfigMap: what arguments can say needs no ConfigMap.
func TestTiCDCWithoutConfigMap(t *testing.T) {
	w := want(t, load(t, "basic", withCaptures), nothing(), state.Snapshot{})
	if g := groupOf(t, w, topology.TiCDC); len(g.Config) != 0 {
		t.Errorf("%+v", g.Config)
	}
	c := load(t, "basic", rolling, withCaptures, func(tc *v1alpha1.TidbCluster) { tc.Spec.TiCDC.Config.Set("sorter.x", int64(1)) })
	have := created(t, want(t, c, nothing(), state.Snapshot{}))
	c.Source.Spec.TiCDC.Config.Set("sorter.x", int64(2))
	w = want(t, c, have, state.Snapshot{})
	if got := groupOf(t, w, topology.TiCDC).Template; got == Template(have.Sets[topology.TiCDC]) {
		t.Error("another configuration restarts nothing")
	}
}

// TestStartTiCDC: the start script starts TiCDC as the spec says, in each shell.
func TestStartTiCDC(t *testing.T) {
	eachShell(t, func(t *testing.T, shell []string) {
		script := func(edits ...func(*v1alpha1.TidbCluster)) string {
			w := want(t, load(t, "basic", append(edits, withCaptures)...), nothing(), state.Snapshot{})
			return setOf(t, w, topology.TiCDC).Spec.Template.Spec.Containers[0].Command[2]
		}
		basic := []string{
			"server", "--addr=0.0.0.0:8301", "--advertise-addr=basic-ticdc-0.basic-ticdc-peer.db.svc:8301",
			"--gc-ttl=86400", "--log-file=", "--log-level=info", "--pd=http://basic-pd:2379",
		}
		newPod(t, shell, script(), "cdc").expect(basic, "POD_NAME=basic-ticdc-0")
		v2 := func(tc *v1alpha1.TidbCluster) { tc.Spec.StartScriptVersion = v1alpha1.StartScriptV2 }
		newPod(t, shell, script(v2), "cdc").expect(basic, "POD_NAME=basic-ticdc-0")
	})
}
