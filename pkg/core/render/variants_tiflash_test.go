package render

import (
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/pingcap/tidb-operator/pkg/apis/util/config"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// flashOfOperator is what an operator's start scripts and configurations of TiFlash depend on.
type flashOfOperator struct {
	pdless  bool // PD's address is empty
	mounted bool // the ConfigMap is mounted in the main container
	tls     bool
	ipv6    bool
	ports   bool // those of versions before v7.1
	dynamic bool
	domain  string
	user    map[string]any // keys of the logger
	names   []any          // of clients
	level   string         // of the log of the part that copies regions
}

// config returns the two configurations of TiFlash v8.1.0 or later with two disks.
func (f flashOfOperator) config() (common, proxy map[string]any) {
	host, listen := "basic-tiflash-POD_NUM.basic-tiflash-peer.db.svc"+f.domain, "0.0.0.0"
	if f.ipv6 {
		listen = "[::]"
	}
	flash := map[string]any{
		"addr": listen + ":20170", "data-dir": "/data0/proxy",
		"config": "/data0/proxy.toml", "advertise-addr": host + ":20170",
	}
	common = map[string]any{
		"tmp_path": "/data0/tmp",
		"storage": map[string]any{
			"main": map[string]any{"dir": []any{"/data0/db", "/data1/db"}},
			"raft": map[string]any{"dir": []any{"/data0/kvstore"}},
		},
		"flash": map[string]any{
			"tidb_status_addr": "basic-tidb.db.svc:10080", "service_addr": listen + ":3930",
			"flash_cluster": map[string]any{"log": "/data0/logs/flash_cluster_manager.log"}, "proxy": flash,
		},
		"logger": map[string]any{"errorlog": "/data0/logs/error.log", "log": "/data0/logs/server.log"},
		"raft":   map[string]any{"pd_addr": "basic-pd.db.svc:2379"},
	}
	if f.pdless {
		common["raft"] = map[string]any{"pd_addr": ""}
	}
	server := map[string]any{"engine-addr": host + ":3930", "advertise-status-addr": host + ":20292", "status-addr": listen + ":20292"}
	proxy = map[string]any{"log-level": "info", "server": server}
	if f.mounted {
		flash["config"] = "/etc/tiflash/proxy_templ.toml"
		delete(flash, "advertise-addr")
		delete(common["flash"].(map[string]any), "service_addr")
		delete(server, "engine-addr")
		delete(server, "advertise-status-addr")
	}
	if f.ipv6 {
		common["listen_host"], common["status"] = "::", map[string]any{"metrics_port": int64(8234)}
	}
	if f.ports && !f.tls {
		common["tcp_port"], common["http_port"] = int64(9000), int64(8123)
	}
	security := map[string]any{}
	if f.names != nil {
		security["cert_allowed_cn"], common["security"] = f.names, security
	}
	if f.tls {
		if f.ports {
			common["tcp_port_secure"], common["https_port"] = int64(9000), int64(8123)
		}
		dir, of := "/var/lib/tiflash-tls/", map[string]any{}
		security["ca_path"], security["cert_path"], security["key_path"] = dir+"ca.crt", dir+"tls.crt", dir+"tls.key"
		of["ca-path"], of["cert-path"], of["key-path"] = dir+"ca.crt", dir+"tls.crt", dir+"tls.key"
		if f.names != nil {
			of["cert-allowed-cn"] = f.names
		}
		common["security"], proxy["security"] = security, of
	}
	for key, value := range f.user {
		common["logger"].(map[string]any)[key] = value
	}
	if f.level != "" {
		proxy["log-level"] = f.level
	}
	return common, proxy
}

// startTiFlash changes the start scripts as the ConfigMap's place asks, after everything else.
func (o *objectsOfOperator) startTiFlash() {
	if !o.flash.mounted {
		return
	}
	k := topology.TiFlash
	o.pod(k).InitContainers = slices.DeleteFunc(o.pod(k).InitContainers, func(c corev1.Container) bool { return c.Name == "init" })
	o.main(k).VolumeMounts = append(o.main(k).VolumeMounts, corev1.VolumeMount{Name: "config", ReadOnly: true, MountPath: "/etc/tiflash"})
	text := "# not ours\nexec /tiflash/tiflash server --config-file /etc/tiflash/config_templ.toml -- --flash.proxy.advertise-addr ${name}.svc" + o.flash.domain + ":20170"
	if o.flash.dynamic {
		text += " --flash.proxy.advertise-status-addr ${name}:20292"
	}
	o.main(k).Command = []string{"/bin/sh", "-c", text + " --raft.pd_addr basic-pd:2379\n"}
}

func ofTiFlash() []variant {
	yes := true
	k := topology.TiFlash
	fl := func(name string, spec func(*v1alpha1.TiFlashSpec), fact func(*objectsOfOperator)) variant {
		return variant{"tiflash." + name, "tiflash." + name, func(tc *v1alpha1.TidbCluster) { spec(tc.Spec.TiFlash) }, fact}
	}
	resources := corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
	return []variant{
		{"tiflash.mount-cm", "tiflash.annotations", func(tc *v1alpha1.TidbCluster) {
			tc.Spec.TiFlash.Annotations = map[string]string{topology.AnnotationMountConfig: "true"}
		}, func(o *objectsOfOperator) {
			o.flash.mounted, o.sets[k].Template.Annotations[topology.AnnotationMountConfig] = true, "true"
		}},
		{"tiflash-710-keep-ports", "keep-ports", func(tc *v1alpha1.TidbCluster) {
			metav1.SetMetaDataAnnotation(&tc.ObjectMeta, topology.AnnotationKeepPorts, "")
		}, func(o *objectsOfOperator) { o.flash.ports = true }},
		fl("recoverFailover", func(s *v1alpha1.TiFlashSpec) { s.RecoverFailover = true }, none),
		fl("maxFailoverCount", func(s *v1alpha1.TiFlashSpec) { s.MaxFailoverCount = ptr(int32(0)) }, none),
		{"tiflash.privileged", "tiflash.securityContext", func(tc *v1alpha1.TidbCluster) { tc.Spec.TiFlash.Privileged = &yes }, func(o *objectsOfOperator) { o.main(k).SecurityContext.Privileged = &yes }},
		fl("serviceAccount", func(s *v1alpha1.TiFlashSpec) { s.ServiceAccount = "a" }, func(o *objectsOfOperator) { o.pod(k).ServiceAccountName = "a" }),
		fl("limits", func(s *v1alpha1.TiFlashSpec) {
			s.Limits = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("3Gi"), corev1.ResourceMemory: resource.MustParse("1.5Gi")}
		}, func(o *objectsOfOperator) {
			o.setEnv(k, "CAPACITY", "3GB")
			o.main(k).Resources.Limits = limited(corev1.ResourceMemory, "1536Mi")
		}),
		fl("initializer", func(s *v1alpha1.TiFlashSpec) {
			s.Initializer = &v1alpha1.InitContainerSpec{ResourceRequirements: resources, SecurityContext: limitedRights()}
		}, func(o *objectsOfOperator) {
			init := &o.pod(k).InitContainers[0]
			init.Resources, init.SecurityContext = resources, limitedRights()
		}),
		fl("logTailer", func(s *v1alpha1.TiFlashSpec) {
			s.LogTailer = &v1alpha1.LogTailerSpec{ResourceRequirements: resources, SecurityContext: limitedRights()}
		}, func(o *objectsOfOperator) {
			for _, name := range []string{"serverlog", "errorlog", "clusterlog"} {
				c := o.container(k, name)
				c.Resources, c.SecurityContext = resources, limitedRights()
			}
		}),
		fl("config", func(s *v1alpha1.TiFlashSpec) {
			s.Config = v1alpha1.NewTiFlashConfig()
			s.Config.Common.Set("logger.level", "debug")
			s.Config.Common.Set("logger.log", "/data1/mine.log")
			s.Config.Common.Set("security.cert_allowed_cn", []any{"a", "b"})
			s.Config.Proxy.Set("log-level", "warn")
		}, func(o *objectsOfOperator) {
			o.flash.user, o.flash.level = map[string]any{"level": "debug", "log": "/data1/mine.log"}, "warn"
			o.flash.names = []any{"a", "b"}
			log := o.container(k, "serverlog")
			log.Command[2] = "touch /data1/mine.log; tail -n0 -F /data1/mine.log;"
			log.VolumeMounts = []corev1.VolumeMount{{Name: "data1", MountPath: "/data1"}}
		}),
		fl("storageClaims", func(s *v1alpha1.TiFlashSpec) {
			s.StorageClaims[0].StorageClassName, s.StorageClaims[0].VolumeAttributesClassName = ptr(""), ptr("gold")
		}, func(o *objectsOfOperator) {
			spec := &o.sets[k].VolumeClaimTemplates[0].Spec
			spec.StorageClassName, spec.VolumeAttributesClassName = ptr(""), ptr("gold")
		}),
	}
}

// documents returns the two configurations as an operator writes them.
func (f flashOfOperator) documents() (map[string]string, error) {
	common, proxy := f.config()
	data := map[string]string{}
	for key, table := range map[string]map[string]any{"config_templ.toml": common, "proxy_templ.toml": proxy} {
		text, err := encode(config.New(table))
		if err != nil {
			return nil, err
		}
		data[key] = "# in other words\n" + text
	}
	return data, nil
}
