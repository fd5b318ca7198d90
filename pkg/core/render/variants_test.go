package render

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// variant is a field of a TidbCluster, and what an operator renders for it.
type variant struct {
	name string
	// about is what it changes: two variants about the same cannot be combined.
	about string
	spec  func(*v1alpha1.TidbCluster)
	fact  func(*objectsOfOperator)
}

func none(*objectsOfOperator) {}

var (
	seed     = flag.Uint64("seed", 20261122, "where the mixtures of variants begin")
	mixtures = flag.Int("mixtures", 400, "how many mixtures of variants there are")
)

// TestAdoptionOfVariants: whatever a TidbCluster says, what an operator has made of
// it is what is wanted: nothing is written, and no pod restarts. First each field
// alone, then mixtures of them.
func TestAdoptionOfVariants(t *testing.T) {
	all := variants()
	for _, v := range all {
		adopted(t, v.name, v)
	}
	t.Logf("mixtures from seed %d on", *seed)
	random := rand.New(rand.NewPCG(*seed, 0))
	for i := range *mixtures {
		var some []variant
		about := map[string]bool{}
		share := random.Float64() // few fields, or many
		for _, v := range all {
			if random.Float64() < share && !about[v.about] {
				about[v.about] = true
				some = append(some, v)
			}
		}
		if !adopted(t, fmt.Sprintf("mixture %d of seed %d", i, *seed), some...) {
			return
		}
	}
}

func adopted(t *testing.T, name string, list ...variant) bool {
	t.Helper()
	var names []string
	o := basicOfOperator(t)
	c := load(t, "flash", withAll, func(tc *v1alpha1.TidbCluster) {
		for _, v := range list {
			v.spec(tc)
			names = append(names, v.name)
		}
	})
	for _, v := range list {
		v.fact(o)
	}
	have := o.existing(t, c)
	w, err := Want(state.Observation{Cluster: c, Existing: have, Snapshot: state.Snapshot{PD: state.PD{ClusterID: 7}}})
	if err != nil {
		t.Errorf("%s: %v (%s)", name, err, strings.Join(names, ", "))
		return false
	}
	for _, k := range kindsOfFlash() {
		if got := setOf(t, w, k); Template(have.Sets[k]) != groupOf(t, w, k).Template {
			t.Errorf("%s: pods of %s restart (%s): wanted %+v, there is %+v", name, k, strings.Join(names, ", "), got.Spec.Template, o.sets[k].Template)
			return false
		}
	}
	if found := drifts(w); len(found) > 0 {
		t.Errorf("%s: to be written: %v (%s)", name, found, strings.Join(names, ", "))
		return false
	}
	return true
}

func variants() []variant {
	all := append(ofTLS(), ofCluster()...)
	for _, k := range kindsOfFlash() {
		all = append(all, ofComponent(k)...)
		all = append(all, ofContainers(k)...)
	}
	return slices.Concat(all, ofPD(), ofTiProxy(), ofTiKV(), ofTiFlash(), ofTiDB(), ofTiCDC(), ofPump(), ofVolumes())
}

// each changes the pods of all components.
func each(change func(*objectsOfOperator, topology.Kind)) func(*objectsOfOperator) {
	return func(o *objectsOfOperator) {
		for _, k := range kindsOfFlash() {
			change(o, k)
		}
	}
}

func ofCluster() []variant {
	yes := true
	dual := corev1.IPFamilyPolicyPreferDualStack
	return []variant{
		{"metadata.annotations", "metadata", func(tc *v1alpha1.TidbCluster) { metav1.SetMetaDataAnnotation(&tc.ObjectMeta, "a", "b") }, none},
		{"pvReclaimPolicy", "pvReclaimPolicy", func(tc *v1alpha1.TidbCluster) { tc.Spec.PVReclaimPolicy = ptr(corev1.PersistentVolumeReclaimDelete) }, none},
		{"enablePVReclaim", "enablePVReclaim", func(tc *v1alpha1.TidbCluster) { tc.Spec.EnablePVReclaim = &yes }, none},
		{"configUpdateStrategy", "configUpdateStrategy", rolling, none},
		{"startScriptVersion", "startScriptVersion", func(tc *v1alpha1.TidbCluster) { tc.Spec.StartScriptVersion = v1alpha1.StartScriptV2 }, func(o *objectsOfOperator) {
			o.arguments, o.ticdc.annotations, o.pump.second = "", true, true
		}},
		{"timezone", "timezone", func(tc *v1alpha1.TidbCluster) { tc.Spec.Timezone = "" }, each(func(o *objectsOfOperator, k topology.Kind) {
			if k != topology.TiFlash && k != topology.TiCDC { // which have a default of their own
				o.setEnv(k, "TZ", "")
			}
		})},
		{"imagePullPolicy", "imagePullPolicy", func(tc *v1alpha1.TidbCluster) { tc.Spec.ImagePullPolicy = corev1.PullAlways }, func(o *objectsOfOperator) {
			for _, k := range kindsOfFlash() {
				o.main(k).ImagePullPolicy = corev1.PullAlways
			}
			for _, c := range o.tailers() {
				c.ImagePullPolicy = corev1.PullAlways
			}
		}},
		{"helper.image", "helper", func(tc *v1alpha1.TidbCluster) { tc.Spec.Helper = &v1alpha1.HelperSpec{Image: ptr("alpine:3")} }, func(o *objectsOfOperator) {
			for _, c := range o.tailers() {
				c.Image = "alpine:3"
			}
			o.pod(topology.TiFlash).InitContainers[0].Image = "alpine:3"
		}},
		{"clusterDomain", "clusterDomain", func(tc *v1alpha1.TidbCluster) { tc.Spec.ClusterDomain = "a.example" }, each(func(o *objectsOfOperator, k topology.Kind) {
			o.flash.domain = ".a.example"
			o.replaceFlag(k, ".svc", ".svc.a.example")
			o.replaceFlag(k, ".basic-pump:", ".basic-pump.db.svc.a.example:")
			o.replaceFlag(k, "${domain}", "${pod}.svc.a.example")
		})},
		{"enableDynamicConfiguration", "dynamic", func(tc *v1alpha1.TidbCluster) { tc.Spec.EnableDynamicConfiguration = &yes }, func(o *objectsOfOperator) {
			o.flags[topology.TiKV] = append(o.flags[topology.TiKV], "--advertise-status-addr=${status}")
			o.flash.dynamic = true
		}},
		{"preferIPv6", "preferIPv6", func(tc *v1alpha1.TidbCluster) { tc.Spec.PreferIPv6 = true }, func(o *objectsOfOperator) {
			o.flash.ipv6 = true
			o.replaceFlag(topology.TiKV, "0.0.0.0", "[::]")
			for _, s := range o.services {
				s.Spec.IPFamilyPolicy = &dual
			}
		}},
		{"labels[instance]", "instance", func(tc *v1alpha1.TidbCluster) { tc.Labels = map[string]string{topology.LabelInstance: ""} }, func(o *objectsOfOperator) {
			for _, s := range o.sets {
				s.Selector.MatchLabels[topology.LabelInstance], s.Template.Labels[topology.LabelInstance] = "", ""
			}
			for _, s := range o.services {
				s.Labels[topology.LabelInstance], s.Spec.Selector[topology.LabelInstance] = "", ""
			}
		}},
	}
}

// ofComponent returns fields that are the same in all components.
func ofComponent(k topology.Kind) []variant {
	seconds, yes := int64(90), true
	toleration := []corev1.Toleration{{Key: "disk", Operator: corev1.TolerationOpExists}}
	affinity := &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "kubernetes.io/hostname"}},
	}}
	security := &corev1.PodSecurityContext{RunAsUser: &seconds}
	field := func(name string, spec func(*v1alpha1.ComponentSpec), fact func(*objectsOfOperator)) variant {
		return variant{string(k) + "." + name, string(k) + "." + name, func(tc *v1alpha1.TidbCluster) { spec(specOf(tc, k)) }, fact}
	}
	pod := func(fact func(*corev1.PodSpec)) func(*objectsOfOperator) {
		return func(o *objectsOfOperator) { fact(o.pod(k)) }
	}
	return []variant{
		field("nodeSelector", func(s *v1alpha1.ComponentSpec) { s.NodeSelector = map[string]string{"disk": "fast"} }, pod(func(p *corev1.PodSpec) { p.NodeSelector = map[string]string{"disk": "fast"} })),
		field("tolerations", func(s *v1alpha1.ComponentSpec) { s.Tolerations = toleration }, pod(func(p *corev1.PodSpec) { p.Tolerations = toleration })),
		field("affinity", func(s *v1alpha1.ComponentSpec) { s.Affinity = affinity }, pod(func(p *corev1.PodSpec) { p.Affinity = affinity })),
		field("schedulerName", func(s *v1alpha1.ComponentSpec) { s.SchedulerName = ptr("other") }, pod(func(p *corev1.PodSpec) { p.SchedulerName = "other" })),
		field("priorityClassName", func(s *v1alpha1.ComponentSpec) { s.PriorityClassName = ptr("high") }, pod(func(p *corev1.PodSpec) { p.PriorityClassName = "high" })),
		field("terminationGracePeriodSeconds", func(s *v1alpha1.ComponentSpec) { s.TerminationGracePeriodSeconds = &seconds }, pod(func(p *corev1.PodSpec) { p.TerminationGracePeriodSeconds = &seconds })),
		field("podSecurityContext", func(s *v1alpha1.ComponentSpec) { s.PodSecurityContext = security }, pod(func(p *corev1.PodSpec) { p.SecurityContext = security })),
		field("securityContext", func(s *v1alpha1.ComponentSpec) { s.SecurityContext = limitedRights() }, func(o *objectsOfOperator) { o.main(k).SecurityContext = limitedRights() }),
		field("automountServiceAccountToken", func(s *v1alpha1.ComponentSpec) { s.AutomountServiceAccountToken = new(bool) }, pod(func(p *corev1.PodSpec) { p.AutomountServiceAccountToken = new(bool) })),
		field("imagePullSecrets", func(s *v1alpha1.ComponentSpec) { s.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "x"}} }, pod(func(p *corev1.PodSpec) { p.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "x"}} })),
		field("hostNetwork", func(s *v1alpha1.ComponentSpec) { s.HostNetwork = &yes }, func(o *objectsOfOperator) {
			o.pod(k).HostNetwork, o.pod(k).DNSPolicy = true, corev1.DNSClusterFirstWithHostNet
			name := map[topology.Kind]string{topology.PD: "POD_NAME", topology.TiKV: "POD_NAME", topology.TiFlash: "POD_NAME", topology.Pump: "HOSTNAME"}[k]
			if name != "" { // the others always have it
				o.main(k).Env = append(o.main(k).Env, fromField(name, "metadata.name"))
			}
		}),
		field("labels", func(s *v1alpha1.ComponentSpec) { s.Labels = map[string]string{"a": "1", topology.LabelComponent: "x"} }, func(o *objectsOfOperator) { o.sets[k].Template.Labels["a"] = "1" }),
		field("annotations", func(s *v1alpha1.ComponentSpec) { s.Annotations = map[string]string{"prometheus.io/port": "1"} }, func(o *objectsOfOperator) { o.sets[k].Template.Annotations["prometheus.io/port"] = "1" }),
		field("podManagementPolicy", func(s *v1alpha1.ComponentSpec) { s.PodManagementPolicy = appsv1.OrderedReadyPodManagement }, func(o *objectsOfOperator) { o.sets[k].PodManagementPolicy = appsv1.OrderedReadyPodManagement }),
		field("statefulSetUpdateStrategy", func(s *v1alpha1.ComponentSpec) { s.StatefulSetUpdateStrategy = appsv1.OnDeleteStatefulSetStrategyType }, func(o *objectsOfOperator) {
			o.sets[k].UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
		}),
		field("version", func(s *v1alpha1.ComponentSpec) { s.Version = ptr("v8.5.9") }, func(o *objectsOfOperator) {
			o.main(k).Image = strings.Replace("pingcap/"+string(k)+":v8.5.9", "/pump", "/tidb-binlog", 1)
		}),
	}
}

// ofContainers returns variants of the containers of a component.
func ofContainers(k topology.Kind) []variant {
	name := string(k)
	field := func(about string, spec func(*v1alpha1.ComponentSpec), fact func(*objectsOfOperator)) variant {
		return variant{name + "." + about, name + "." + about, func(tc *v1alpha1.TidbCluster) { spec(specOf(tc, k)) }, fact}
	}
	config := corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "x"}}}
	sidecar := corev1.Container{Name: "sidecar", Image: "x:1"}
	return []variant{
		field("env", func(s *v1alpha1.ComponentSpec) { s.Env = []corev1.EnvVar{value("A", "1"), value("TZ", "mine")} }, func(o *objectsOfOperator) {
			o.main(k).Env = append(o.main(k).Env, value("A", "1"))
			if k == topology.TiProxy || k == topology.Pump { // the others have it
				o.main(k).Env = append(o.main(k).Env, value("TZ", "mine"))
			}
		}),
		field("envFrom", func(s *v1alpha1.ComponentSpec) { s.EnvFrom = []corev1.EnvFromSource{config} }, func(o *objectsOfOperator) { o.main(k).EnvFrom = []corev1.EnvFromSource{config} }),
		field("initContainers", func(s *v1alpha1.ComponentSpec) { s.InitContainers = []corev1.Container{sidecar} }, func(o *objectsOfOperator) {
			o.pod(k).InitContainers = append(o.pod(k).InitContainers, sidecar)
		}),
		field("additionalContainers", func(s *v1alpha1.ComponentSpec) {
			s.AdditionalContainers = []corev1.Container{{Name: name, WorkingDir: "/a"}, sidecarNamed("more"), {Name: name, Stdin: true}}
		}, func(o *objectsOfOperator) {
			o.main(k).Stdin = true
			o.pod(k).Containers = append(o.pod(k).Containers, sidecarNamed("more"))
		}),
	}
}

// limitedRights is a security context of a container.
func limitedRights() *corev1.SecurityContext {
	yes, no := true, false
	return &corev1.SecurityContext{ReadOnlyRootFilesystem: &yes, AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
}

func sidecarNamed(name string) corev1.Container { return corev1.Container{Name: name, Image: "x:1"} }

func ofPD() []variant {
	service := func(o *objectsOfOperator) *corev1.Service { return o.services["basic-pd"] }
	return []variant{
		{"pd.service", "pd.service", func(tc *v1alpha1.TidbCluster) {
			tc.Spec.PD.Service = &v1alpha1.ServiceSpec{Type: corev1.ServiceTypeNodePort, PortName: ptr("pd"), Port: ptr(int32(1)), LoadBalancerClass: ptr("x")}
		}, func(o *objectsOfOperator) {
			service(o).Spec.Type, service(o).Spec.Ports[0].Name = corev1.ServiceTypeNodePort, "pd"
		}},
		{"services", "pd.service", func(tc *v1alpha1.TidbCluster) {
			tc.Spec.Services = []v1alpha1.Service{{Name: "pd", Type: "LoadBalancer"}, {Name: "pd", Type: "NodePort"}}
		}, func(o *objectsOfOperator) { service(o).Spec.Type = corev1.ServiceTypeLoadBalancer }},
		{"pd.enableDashboardInternalProxy", "pd.proxy", func(tc *v1alpha1.TidbCluster) { tc.Spec.PD.EnableDashboardInternalProxy = new(bool) }, func(o *objectsOfOperator) {
			o.configure(topology.PD, "dashboard", "internal-proxy", false)
		}},
		{"pd.dataSubDir", "pd.dataSubDir", func(tc *v1alpha1.TidbCluster) { tc.Spec.PD.DataSubDir = "sub" }, func(o *objectsOfOperator) { o.replaceFlag(topology.PD, "/var/lib/pd", "/var/lib/pd/sub") }},
		{"pd.readinessProbe", "pd.readinessProbe", func(tc *v1alpha1.TidbCluster) {
			tc.Spec.PD.ReadinessProbe = &v1alpha1.Probe{PeriodSeconds: ptr(int32(7))}
		}, func(o *objectsOfOperator) {
			o.main(topology.PD).ReadinessProbe = &corev1.Probe{ProbeHandler: dialed(2379), InitialDelaySeconds: 10, PeriodSeconds: 7}
		}},
		{"pd.storageClassName", "pd.storageClassName", func(tc *v1alpha1.TidbCluster) { tc.Spec.PD.StorageClassName = ptr("") }, func(o *objectsOfOperator) {
			o.sets[topology.PD].VolumeClaimTemplates[0].Spec.StorageClassName = ptr("")
		}},
	}
}

func dialed(port int32) corev1.ProbeHandler {
	return corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(port)}}
}

func limited(name corev1.ResourceName, amount string) corev1.ResourceList {
	return corev1.ResourceList{name: resource.MustParse(amount)}
}
