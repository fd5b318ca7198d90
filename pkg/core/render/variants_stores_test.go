package render

import (
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func ofTiKV() []variant {
	yes := true
	kv := func(name string, spec func(*v1alpha1.TiKVSpec), fact func(*objectsOfOperator)) variant {
		return variant{"tikv." + name, "tikv." + name, func(tc *v1alpha1.TidbCluster) { spec(tc.Spec.TiKV) }, fact}
	}
	tailer := func(o *objectsOfOperator, name, file string) corev1.Container {
		return corev1.Container{
			Name: name, Image: o.container(topology.TiDB, "slowlog").Image,
			ImagePullPolicy: o.container(topology.TiDB, "slowlog").ImagePullPolicy,
			Command:         []string{"sh", "-c", "touch /var/lib/tikv/" + file + "; tail -n0 -F /var/lib/tikv/" + file + ";"},
			VolumeMounts:    []corev1.VolumeMount{{Name: "tikv", MountPath: "/var/lib/tikv"}},
		}
	}
	return []variant{
		kv("evictLeaderTimeout", func(s *v1alpha1.TiKVSpec) { s.EvictLeaderTimeout = ptr("9m") }, none),
		kv("storeLabels", func(s *v1alpha1.TiKVSpec) { s.StoreLabels = []string{"zone"} }, none),
		kv("maxFailoverCount", func(s *v1alpha1.TiKVSpec) { s.MaxFailoverCount = ptr(int32(0)) }, none),
		{"tikv.privileged", "tikv.securityContext", func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.Privileged = &yes }, func(o *objectsOfOperator) { o.main(topology.TiKV).SecurityContext.Privileged = &yes }},
		kv("enableNamedStatusPort", func(s *v1alpha1.TiKVSpec) { s.EnableNamedStatusPort = true }, func(o *objectsOfOperator) {
			o.main(topology.TiKV).Ports = append(o.main(topology.TiKV).Ports, corev1.ContainerPort{Name: "status", ContainerPort: 20180, Protocol: corev1.ProtocolTCP})
		}),
		kv("dataSubDir", func(s *v1alpha1.TiKVSpec) { s.DataSubDir = "sub" }, func(o *objectsOfOperator) {
			o.replaceFlag(topology.TiKV, "/var/lib/tikv", "/var/lib/tikv/sub")
		}),
		kv("limits", func(s *v1alpha1.TiKVSpec) {
			s.Limits = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("3Gi"), corev1.ResourceMemory: resource.MustParse("1.5Gi")}
		}, func(o *objectsOfOperator) {
			o.setEnv(topology.TiKV, "CAPACITY", "3GB")
			o.main(topology.TiKV).Resources.Limits = limited(corev1.ResourceMemory, "1536Mi")
		}),
		kv("config", func(s *v1alpha1.TiKVSpec) {
			s.Config = v1alpha1.NewTiKVConfig()
			s.Config.Set("pessimistic-txn.wait-for-lock-timeout", "+1000")
			s.Config.Set("pessimistic-txn.wake-up-delay-duration", "-1")
			s.Config.Set("log-level", "warn")
		}, func(o *objectsOfOperator) {
			o.config[topology.TiKV]["log-level"] = "warn"
			o.config[topology.TiKV]["pessimistic-txn"] = map[string]any{"wait-for-lock-timeout": int64(1000), "wake-up-delay-duration": int64(-1)}
		}),
		kv("restored", func(*v1alpha1.TiKVSpec) {}, func(o *objectsOfOperator) {
			o.config[topology.TiKV]["gc"] = map[string]any{"ratio-threshold": -1.0}
			o.overlay[topology.TiKV] = "[gc]\n  ratio-threshold = -1.0\n"
		}),
		kv("separateRaftLog", func(s *v1alpha1.TiKVSpec) { s.SeparateRaftLog = &yes }, func(o *objectsOfOperator) {
			o.pod(topology.TiKV).Containers = slices.Insert(o.pod(topology.TiKV).Containers, 0, tailer(o, "raftlog", "raftdb.info"))
		}),
		kv("separateRocksDBLog", func(s *v1alpha1.TiKVSpec) { s.SeparateRocksDBLog = &yes }, func(o *objectsOfOperator) {
			o.pod(topology.TiKV).Containers = slices.Insert(o.pod(topology.TiKV).Containers, 0, tailer(o, "rocksdblog", "rocksdb.info"))
		}),
		{"tikv.logTailer", "tikv.logTailer", func(tc *v1alpha1.TidbCluster) {
			tc.Spec.TiKV.SeparateRaftLog = &yes
			tc.Spec.TiKV.LogTailer = &v1alpha1.LogTailerSpec{SecurityContext: limitedRights()}
		}, func(o *objectsOfOperator) {
			if list := o.pod(topology.TiKV).Containers; !slices.ContainsFunc(list, func(c corev1.Container) bool { return c.Name == "raftlog" }) {
				at := slices.IndexFunc(list, func(c corev1.Container) bool { return c.Name == "rocksdblog" }) + 1
				o.pod(topology.TiKV).Containers = slices.Insert(list, at, tailer(o, "raftlog", "raftdb.info"))
			}
			for i, c := range o.pod(topology.TiKV).Containers {
				if c.Name == "raftlog" || c.Name == "rocksdblog" {
					o.pod(topology.TiKV).Containers[i].SecurityContext = limitedRights()
				}
			}
		}},
	}
}

func ofTiDB() []variant {
	yes, no := true, false
	db := func(name string, spec func(*v1alpha1.TiDBSpec), fact func(*objectsOfOperator)) variant {
		return variant{"tidb." + name, "tidb." + name, func(tc *v1alpha1.TidbCluster) { spec(tc.Spec.TiDB) }, fact}
	}
	hook := &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sleep", "5"}}}}
	secret := corev1.Volume{Name: "tidb-auth-token", VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: "basic-tidb-auth-token-jwks-secret"},
	}}
	kind := topology.TiDB
	return []variant{
		db("service", func(s *v1alpha1.TiDBSpec) {
			s.Service = &v1alpha1.TiDBServiceSpec{ServiceSpec: v1alpha1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Port: ptr(int32(3306))}, ExposeStatus: &no}
		}, func(o *objectsOfOperator) {
			s := &o.services["basic-tidb"].Spec
			s.Type, s.Ports = corev1.ServiceTypeNodePort, s.Ports[:1]
			s.Ports[0].Port, s.Ports[0].NodePort = 3306, 31234
		}),
		db("separateSlowLog", func(s *v1alpha1.TiDBSpec) { s.SeparateSlowLog = &no }, func(o *objectsOfOperator) {
			isLog := func(name string) bool { return name == "slowlog" }
			p := o.pod(kind)
			p.Containers = slices.DeleteFunc(p.Containers, func(c corev1.Container) bool { return isLog(c.Name) })
			p.Volumes = slices.DeleteFunc(p.Volumes, func(v corev1.Volume) bool { return isLog(v.Name) })
			o.main(kind).VolumeMounts = slices.DeleteFunc(o.main(kind).VolumeMounts, func(m corev1.VolumeMount) bool { return isLog(m.Name) })
			o.setEnv(kind, "SLOW_LOG_FILE", "")
		}),
		{"tidb.slowLogTailer.securityContext", "tidb.separateSlowLog", func(tc *v1alpha1.TidbCluster) {
			tc.Spec.TiDB.SlowLogTailer = &v1alpha1.TiDBSlowLogTailerSpec{SecurityContext: limitedRights()}
		}, func(o *objectsOfOperator) { o.container(kind, "slowlog").SecurityContext = limitedRights() }},
		db("lifecycle", func(s *v1alpha1.TiDBSpec) { s.Lifecycle = hook }, func(o *objectsOfOperator) { o.main(kind).Lifecycle = hook }),
		db("readinessProbe", func(s *v1alpha1.TiDBSpec) {
			s.ReadinessProbe = &v1alpha1.Probe{Type: ptr(v1alpha1.CommandProbeType), InitialDelaySeconds: ptr(int32(3))}
		}, func(o *objectsOfOperator) {
			o.main(kind).ReadinessProbe = &corev1.Probe{InitialDelaySeconds: 3, ProbeHandler: corev1.ProbeHandler{
				Exec: &corev1.ExecAction{Command: o.statusCommand()},
			}}
		}),
		{"tidb.arguments", "startScriptVersion", func(tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.Arguments = []string{"--a", "-b 1"} }, func(o *objectsOfOperator) { o.arguments = "--a -b 1" }},
		db("plugins", func(s *v1alpha1.TiDBSpec) { s.Plugins = []string{"a-1", "b-1"} }, func(o *objectsOfOperator) {
			o.flags[kind] = append(o.flags[kind], "--plugin-dir /plugins", "--plugin-load a-1,b-1")
		}),
		db("config", func(s *v1alpha1.TiDBSpec) { s.Config.Set("log.file.max-backups", int64(9)) }, func(o *objectsOfOperator) {
			o.config[kind]["log"].(map[string]any)["file"].(map[string]any)["max-backups"] = int64(9)
		}),
		db("tokenBasedAuthEnabled", func(s *v1alpha1.TiDBSpec) { s.TokenBasedAuthEnabled = &yes }, func(o *objectsOfOperator) {
			o.configure(kind, "security", "auth-token-jwks", "/var/lib/tidb-auth-token/tidb_auth_token_jwks.json")
			o.pod(kind).Volumes = slices.Insert(o.pod(kind).Volumes, 3, secret)
			o.main(kind).VolumeMounts = slices.Insert(o.main(kind).VolumeMounts, 3, corev1.VolumeMount{Name: "tidb-auth-token", ReadOnly: true, MountPath: "/var/lib/tidb-auth-token"})
		}),
	}
}

// ofVolumes returns variants with volumes that the user adds. Their order differs between the
// components.
func ofVolumes() []variant {
	var all []variant
	before := map[topology.Kind]string{topology.TiKV: "tikv-tls", topology.TiFlash: "tiflash-tls", topology.TiDB: "slowlog"}
	for _, k := range kindsOfFlash() {
		name := string(k)
		added := corev1.VolumeMount{Name: "extra", MountPath: "/extra"}
		all = append(all, variant{name + ".additionalVolumes", name + ".additionalVolumes", func(tc *v1alpha1.TidbCluster) {
			specOf(tc, k).AdditionalVolumes = []corev1.Volume{emptyDir("extra")}
			specOf(tc, k).AdditionalVolumeMounts = []corev1.VolumeMount{added}
		}, func(o *objectsOfOperator) {
			if k == topology.Pump {
				return // whose pods get none
			}
			o.pod(k).Volumes = append(o.pod(k).Volumes, emptyDir("extra"))
			o.mount(k, before[k], added)
		}})
		if k == topology.TiFlash || k == topology.Pump {
			continue // they have none
		}
		all = append(all, variant{name + ".storageVolumes", name + ".storageVolumes", func(tc *v1alpha1.TidbCluster) {
			volumes := []v1alpha1.StorageVolume{{Name: "log", StorageSize: "1Gi", MountPath: "/log", StorageClassName: ptr(""), VolumeAttributesClassName: ptr("")}}
			switch k {
			case topology.PD:
				tc.Spec.PD.StorageVolumes = volumes
			case topology.TiProxy:
				tc.Spec.TiProxy.StorageVolumes, tc.Spec.TiProxy.StorageClassName = volumes, ptr("fast")
			case topology.TiCDC:
				tc.Spec.TiCDC.StorageVolumes, tc.Spec.TiCDC.StorageClassName = volumes, ptr("fast")
			case topology.TiKV:
				tc.Spec.TiKV.StorageVolumes, tc.Spec.TiKV.StorageClassName = volumes, ptr("fast")
			case topology.TiDB:
				tc.Spec.TiDB.StorageVolumes, tc.Spec.TiDB.StorageClassName = volumes, ptr("fast")
			}
		}, func(o *objectsOfOperator) {
			claim := *o.sets[topology.PD].VolumeClaimTemplates[0].DeepCopy()
			claim.Name = name + "-log"
			claim.Spec.Resources.Requests = limited(corev1.ResourceStorage, "1Gi")
			if k != topology.PD {
				claim.Spec.StorageClassName = ptr("fast")
				for i := range o.sets[k].VolumeClaimTemplates {
					o.sets[k].VolumeClaimTemplates[i].Spec.StorageClassName = ptr("fast")
				}
			}
			o.sets[k].VolumeClaimTemplates = append(o.sets[k].VolumeClaimTemplates, claim)
			// TiKV's come after the user's mounts, those of the others before them.
			at := map[topology.Kind]string{topology.PD: "extra", topology.TiProxy: "extra", topology.TiCDC: "extra", topology.TiDB: "slowlog"}[k]
			if k == topology.TiDB && slices.ContainsFunc(o.main(k).VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "extra" }) {
				at = "extra"
			}
			o.mount(k, at, corev1.VolumeMount{Name: name + "-log", MountPath: "/log"})
		}})
	}
	return all
}
