package render

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/pingcap/tidb-operator/pkg/apis/util/config"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// objectsOfOperator are the objects that tidb-operator v1.6.6 makes for a cluster, as facts: its
// records in testdata/applied, and what each variant of the TidbCluster changes in them. Our code
// does not render them.
type objectsOfOperator struct {
	sets     map[topology.Kind]*appsv1.StatefulSetSpec
	services map[string]*corev1.Service
	config   map[topology.Kind]map[string]any
	flash    flashOfOperator
	ticdc    ticdcOfOperator
	pump     pumpOfOperator
	// overlay has the settings that override a configuration while a restore runs, as TOML.
	overlay map[topology.Kind]string
	// flags are those with which the start script executes a component, and arguments those that it
	// appends.
	flags     map[topology.Kind][]string
	arguments string
}

// kindsOfFlash are the components of the cluster that an operator has made here, which has no services of PD.
func kindsOfFlash() []topology.Kind {
	return slices.DeleteFunc(topology.Kinds(), func(k topology.Kind) bool { _, is := k.Serves(); return is })
}

// withProxies adds TiProxy to a TidbCluster.
func withProxies(tc *v1alpha1.TidbCluster) {
	proxy := &v1alpha1.TiProxySpec{Replicas: 2, Config: v1alpha1.NewTiProxyConfig()}
	proxy.Version = ptr("v1.3.0")
	tc.Spec.TiProxy = proxy
}

// withCaptures adds TiCDC to a TidbCluster.
func withCaptures(tc *v1alpha1.TidbCluster) {
	tc.Spec.TiCDC = &v1alpha1.TiCDCSpec{Replicas: 2, Config: v1alpha1.NewCDCConfig()}
}

// withPumps adds Pump to a TidbCluster.
func withPumps(tc *v1alpha1.TidbCluster) {
	tc.Spec.Pump = &v1alpha1.PumpSpec{Replicas: 2, Config: config.New(map[string]any{"gc": int64(7)})}
	tc.Spec.Pump.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
}

// withAll adds what a TidbCluster with TiFlash lacks.
func withAll(tc *v1alpha1.TidbCluster) {
	withProxies(tc)
	withCaptures(tc)
	withPumps(tc)
}

func basicOfOperator(t *testing.T) *objectsOfOperator {
	t.Helper()
	o := &objectsOfOperator{
		sets:     map[topology.Kind]*appsv1.StatefulSetSpec{},
		services: created(t, want(t, load(t, "flash", withAll), nothing(), state.Snapshot{})).Services,
		config: map[topology.Kind]map[string]any{
			topology.PD:   {"dashboard": map[string]any{"internal-proxy": true}},
			topology.TiKV: {},
			topology.TiProxy: {
				"workdir": "/var/lib/tiproxy/work", "proxy": map[string]any{"pd-addrs": "basic-pd:2379", "require-backend-tls": false},
			},
			topology.Pump: {"gc": int64(7)},
			topology.TiDB: {"log": map[string]any{"file": map[string]any{"max-backups": int64(3)}}},
		},
		overlay: map[topology.Kind]string{},
		flags: map[topology.Kind][]string{
			topology.PD:      {"--data-dir=/var/lib/pd", "--advertise-peer-urls=http://${domain}:2380"},
			topology.TiProxy: {"--config=/etc/proxy/proxy.toml", "--advertise-addr=${host}.svc"},
			topology.TiKV:    {"--advertise-addr=${host}.svc:20160", "--addr=0.0.0.0:20160", "--data-dir=/var/lib/tikv"},
			topology.TiDB:    {"--store=tikv", "--advertise-address=${host}.svc", "--host=0.0.0.0", "--enable-binlog=true"},
			topology.Pump:    {"-pd-urls=http://basic-pd:2379", "-L=info", "-advertise-addr=`echo ${HOSTNAME}`.basic-pump:8250", "-config=/etc/pump/pump.toml"},
			topology.TiCDC: {
				"--addr=0.0.0.0:8301", "--advertise-addr=${POD_NAME}.${HEADLESS_SERVICE_NAME}.${NAMESPACE}.svc:8301",
				"--gc-ttl=86400", "--log-file=", "--log-level=info", "--pd=http://basic-pd:2379",
			},
		},
	}
	for _, k := range kindsOfFlash() {
		record, err := os.ReadFile(filepath.Join("testdata", "applied", "basic-"+string(k)+".json"))
		if err != nil {
			t.Fatal(err)
		}
		o.sets[k] = &appsv1.StatefulSetSpec{}
		if err := json.Unmarshal(record, o.sets[k]); err != nil {
			t.Fatal(err)
		}
	}
	o.setEnv(topology.TiDB, "BINLOG_ENABLED", "true")
	return o
}

func (o *objectsOfOperator) pod(k topology.Kind) *corev1.PodSpec { return &o.sets[k].Template.Spec }

func (o *objectsOfOperator) container(k topology.Kind, name string) *corev1.Container {
	list := o.pod(k).Containers
	return &list[slices.IndexFunc(list, func(c corev1.Container) bool { return c.Name == name })]
}

func (o *objectsOfOperator) main(k topology.Kind) *corev1.Container { return o.container(k, string(k)) }

// tailers are the containers that print logs.
func (o *objectsOfOperator) tailers() []*corev1.Container {
	return []*corev1.Container{
		o.container(topology.TiDB, "slowlog"), o.container(topology.TiFlash, "serverlog"),
		o.container(topology.TiFlash, "errorlog"), o.container(topology.TiFlash, "clusterlog"),
	}
}

// setEnv sets a variable of a component that has it.
func (o *objectsOfOperator) setEnv(k topology.Kind, name, value string) {
	env := o.main(k).Env
	if i := slices.IndexFunc(env, func(e corev1.EnvVar) bool { return e.Name == name }); i >= 0 {
		env[i].Value = value
	}
}

// mount inserts a mount of the main container before another one, or last.
func (o *objectsOfOperator) mount(k topology.Kind, before string, m corev1.VolumeMount) {
	list := o.main(k).VolumeMounts
	i := slices.IndexFunc(list, func(m corev1.VolumeMount) bool { return m.Name == before })
	if i < 0 {
		i = len(list)
	}
	o.main(k).VolumeMounts = slices.Insert(list, i, m)
}

// replaceFlag replaces a flag of a start script.
func (o *objectsOfOperator) replaceFlag(k topology.Kind, old, text string) {
	for i := range o.flags[k] {
		o.flags[k][i] = strings.ReplaceAll(o.flags[k][i], old, text)
	}
}

// script returns a start script with the flags, with another text than an operator's.
func (o *objectsOfOperator) script(k topology.Kind) string {
	text := "# not ours\nARGS=\"" + strings.Join(o.flags[k], " \\\n") + "\"\nexec /" + string(k) + "-server ${ARGS}"
	if k == topology.TiDB && o.arguments != "" {
		text += " " + o.arguments
	}
	return text + "\n"
}

// existing returns the objects as Kubernetes has them.
func (o *objectsOfOperator) existing(t *testing.T, c topology.Cluster) state.Existing {
	t.Helper()
	have := nothing()
	have.HasDiscoveryDeployment = true
	o.startTiFlash()
	o.startTiCDC()
	o.startPump()
	for name, s := range o.services {
		s.OwnerReferences = []metav1.OwnerReference{owner(c)}
		record := s.Spec.DeepCopy()
		if record.ClusterIP != corev1.ClusterIPNone {
			record.ClusterIP = ""
		}
		record.ClusterIPs, record.SessionAffinity = nil, ""
		setLastApplied(&s.ObjectMeta, *record)
		have.Services[name] = s
	}
	for _, k := range kindsOfFlash() {
		live := &appsv1.StatefulSet{ObjectMeta: meta(c, c.SetName(k), c.Labels(k)), Spec: *o.sets[k]}
		setLastApplied(&live.ObjectMeta, *o.sets[k])
		have.Sets[k] = live
		if k == topology.TiCDC && len(o.config[k]) == 0 {
			continue
		}
		text, err := encode(config.New(o.config[k]))
		if err != nil {
			t.Fatal(err)
		}
		have.ConfigMaps[c.SetName(k)] = &corev1.ConfigMap{
			ObjectMeta: meta(c, c.SetName(k), c.Labels(k)),
			Data:       map[string]string{keyConfig: "# in other words\n" + text, keyScript: o.script(k)},
		}
		if k == topology.TiCDC {
			delete(have.ConfigMaps[c.SetName(k)].Data, keyScript)
		}
		if k == topology.Pump {
			have.ConfigMaps[c.SetName(k)].Data = map[string]string{"pump-config": "# in other words\n" + text}
		}
		if k == topology.TiFlash {
			if have.ConfigMaps[c.SetName(k)].Data, err = o.flash.documents(); err != nil {
				t.Fatal(err)
			}
		}
		if over := o.overlay[k]; over != "" {
			have.ConfigMaps[c.SetName(k)].Data["config-file-overlay"] = over
		}
	}
	return have
}

// specOf returns the part that the specs of all components have in common.
func specOf(tc *v1alpha1.TidbCluster, k topology.Kind) *v1alpha1.ComponentSpec {
	switch k {
	case topology.PD:
		return &tc.Spec.PD.ComponentSpec
	case topology.TiProxy:
		return &tc.Spec.TiProxy.ComponentSpec
	case topology.TiKV:
		return &tc.Spec.TiKV.ComponentSpec
	case topology.TiFlash:
		return &tc.Spec.TiFlash.ComponentSpec
	case topology.TiCDC:
		return &tc.Spec.TiCDC.ComponentSpec
	case topology.Pump:
		return &tc.Spec.Pump.ComponentSpec
	}
	return &tc.Spec.TiDB.ComponentSpec
}
