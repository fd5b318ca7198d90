package render

import (
	"fmt"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/util/config"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// tiflashConfig returns the configurations of TiFlash and of its part that copies regions. They have what the user has
// set, defaults for the rest, and the keys for TLS.
func tiflashConfig(comp component) (common, proxy *config.GenericConfig, err error) {
	fl := comp.cluster.Source.Spec.TiFlash.Config
	common, err = withDefaults(fl.Common.GenericConfig, commonDefaults(comp))
	if err != nil {
		return nil, nil, err
	}
	proxy, err = withDefaults(fl.Proxy.GenericConfig, proxyDefaults(comp))
	if err != nil || !comp.cluster.TLS.Members {
		return common, proxy, err
	}
	volume := topology.TiFlash.CertificateVolume()
	forced := certificateKeys(volume, "security.ca_path", "security.cert_path", "security.key_path")
	if oldPorts(comp) {
		forced = append(forced, setting{"tcp_port_secure", int64(topology.TiFlashTCPPort)}, setting{"https_port", int64(topology.TiFlashHTTPPort)})
	}
	if common, err = withKeys(common, forced...); err != nil {
		return nil, nil, err
	}
	delete(common.MP, "tcp_port")
	delete(common.MP, "http_port")
	forced = certificateKeys(volume, "security.ca-path", "security.cert-path", "security.key-path")
	if names := common.Get("security.cert_allowed_cn"); names != nil && proxy.Get("security.cert-allowed-cn") == nil {
		forced = append(forced, setting{"security.cert-allowed-cn", names.Interface()})
	}
	proxy, err = withKeys(proxy, forced...)
	return common, proxy, err
}

// pdAddress is the key of TiFlash's configuration with PD's address.
const pdAddress = "raft.pd_addr"

// withoutPDAddress returns the configuration of tidb-operator where start scripts are to prefer the addresses of PD in
// the spec. There are no addresses in the spec, so that PD's address is empty in the configuration. With PD's address
// instead all members of TiFlash would restart when the cluster is taken over. It returns nil for other clusters.
func withoutPDAddress(comp component, wanted *config.GenericConfig) (*config.GenericConfig, error) {
	if !comp.cluster.PrefersPDAddresses() || sets(comp.cluster.Source.Spec.TiFlash.Config.Common.MP, pdAddress) {
		return nil, nil
	}
	return withKeys(wanted, setting{pdAddress, ""})
}

// withDefaults returns a copy of the user's configuration with settings for keys that it does not
// have.
func withDefaults(user *config.GenericConfig, defaults []setting) (*config.GenericConfig, error) {
	var missing []setting
	for _, s := range defaults {
		if !sets(user.MP, s.key) {
			missing = append(missing, s)
		}
	}
	return withKeys(user, missing...)
}

// sets reports whether a configuration has a key.
func sets(table map[string]any, key string) bool {
	first, rest, nested := strings.Cut(key, ".")
	value, ok := table[first]
	if !nested || !ok {
		return ok
	}
	inner, ok := value.(map[string]any)
	return ok && sets(inner, rest)
}

// ofRelease reports whether a tag is of a release or a later one. Nightly images are the latest, and so are those
// without a tag.
func ofRelease(tag, release string) bool {
	if tag == "" || tag == "latest" || tag == "nightly" {
		return true
	}
	have, err := topology.ParseVersion(tag)
	least, _ := topology.ParseVersion(release)
	return err == nil && !have.Less(least)
}

// oldPorts reports whether TiFlash listens on the ports of versions before v7.1.
func oldPorts(comp component) bool {
	_, keep := comp.cluster.Source.Annotations[topology.AnnotationKeepPorts]
	return keep || !ofRelease(comp.Version, "v7.1.0")
}

func anyHost(c topology.Cluster) string {
	if c.Source.Spec.PreferIPv6 {
		return "[::]"
	}
	return "0.0.0.0"
}

// tiflashHost returns the address of a member, with POD_NUM for its ordinal.
func tiflashHost(c topology.Cluster, port int) string {
	return fmt.Sprintf("%s-POD_NUM.%s:%d", c.SetName(topology.TiFlash), peers(c, topology.TiFlash), port)
}

// commonDefaults are the settings of TiFlash itself.
func commonDefaults(comp component) []setting {
	c, user := comp.cluster, comp.cluster.Source.Spec.TiFlash.Config.Common.MP
	all := []setting{
		{"tmp_path", tiflashData + "/tmp"},
		{"flash.tidb_status_addr", fmt.Sprintf("%s:%d", c.TiFlashTiDBHost(), topology.TiDBStatusPort)},
		{"flash.flash_cluster.log", tiflashData + "/logs/flash_cluster_manager.log"},
		{"flash.proxy.addr", fmt.Sprintf("%s:%d", anyHost(c), topology.TiFlashProxyPort)},
		{"flash.proxy.data-dir", tiflashData + "/proxy"},
		{"logger.errorlog", tiflashData + "/logs/error.log"},
		{"logger.log", tiflashData + "/logs/server.log"},
		{pdAddress, c.TiFlashPDEndpoints()},
	}
	if mountsTiFlashConfig(comp) {
		all = append(all, setting{"flash.proxy.config", tiflashConfigDir + "/" + keyTiFlashProxy})
	} else {
		all = append(all,
			setting{"flash.proxy.config", tiflashData + "/proxy.toml"},
			setting{"flash.proxy.advertise-addr", tiflashHost(c, topology.TiFlashProxyPort)},
			setting{"flash.service_addr", fmt.Sprintf("%s:%d", anyHost(c), topology.TiFlashServicePort)})
	}
	if oldPorts(comp) {
		all = append(all, setting{"tcp_port", int64(topology.TiFlashTCPPort)}, setting{"http_port", int64(topology.TiFlashHTTPPort)})
	}
	if c.Source.Spec.PreferIPv6 {
		all = append(all, setting{"listen_host", "::"}, setting{"status.metrics_port", int64(topology.TiFlashMetricsPort)})
	}
	if !ofRelease(comp.Version, "v5.4.0") {
		return append(all, before54(comp)...)
	}
	if !sets(user, "path") && !sets(user, "storage.main.dir") {
		all = append(all, setting{"storage.main.dir", anys(diskPaths(comp))})
	}
	if !sets(user, "raft.kvstore_path") {
		all = append(all, setting{"storage.raft.dir", []any{tiflashData + "/kvstore"}})
	}
	return all
}

// diskPaths are the directories of the data, one on each disk.
func diskPaths(comp component) []string {
	var all []string
	for i := range comp.claims {
		all = append(all, "/"+topology.TiFlashVolume(i)+"/db")
	}
	return all
}

func anys(texts []string) []any {
	all := make([]any, len(texts))
	for i := range texts {
		all[i] = texts[i]
	}
	return all
}

// before54 are defaults of versions before v5.4, which have no tables of storage.
func before54(comp component) []setting {
	listen := "0.0.0.0"
	if comp.cluster.Source.Spec.PreferIPv6 {
		listen = "::"
	}
	const gib5 = int64(5 << 30)
	all := []setting{
		{"path", strings.Join(diskPaths(comp), ",")},
		{"display_name", "TiFlash"}, {"default_profile", "default"}, {"path_realtime_mode", false},
		{"mark_cache_size", gib5}, {"minmax_index_cache_size", gib5},
		{"interserver_http_port", int64(topology.TiFlashInternalPort)}, {"listen_host", listen},
		{"status.metrics_port", int64(topology.TiFlashMetricsPort)}, {"application.runAsDaemon", true},
		{"flash.overlap_threshold", 0.6}, {"flash.compact_log_min_period", int64(200)},
		{"flash.flash_cluster.cluster_manager_path", "/tiflash/flash_cluster_manager"},
		{"flash.flash_cluster.refresh_interval", int64(20)}, {"flash.flash_cluster.update_rule_interval", int64(10)},
		{"flash.flash_cluster.master_ttl", int64(60)},
		{"logger.size", "100M"}, {"logger.level", "information"}, {"logger.count", int64(10)},
		{"raft.kvstore_path", tiflashData + "/kvstore"}, {"raft.storage_engine", "dt"},
		{"quotas.default.interval.duration", int64(3600)},
		{"profiles.readonly.readonly", int64(1)}, {"profiles.default.max_memory_usage", int64(10000000000)},
		{"profiles.default.load_balancing", "random"}, {"profiles.default.use_uncompressed_cache", int64(0)},
	}
	for _, of := range []string{"queries", "errors", "result_rows", "read_rows", "execution_time"} {
		all = append(all, setting{"quotas.default.interval." + of, int64(0)})
	}
	for _, user := range []string{"readonly", "default"} {
		at := "users." + user + "."
		all = append(all, setting{at + "profile", user}, setting{at + "quota", "default"}, setting{at + "networks.ip", "::/0"}, setting{at + "password", ""})
	}
	return all
}

// proxyDefaults are the settings of the part that copies regions.
func proxyDefaults(comp component) []setting {
	c := comp.cluster
	all := []setting{
		{"log-level", "info"},
		{"server.status-addr", fmt.Sprintf("%s:%d", anyHost(c), topology.TiFlashProxyStatusPort)},
	}
	if mountsTiFlashConfig(comp) {
		return all
	}
	return append(all,
		setting{"server.engine-addr", tiflashHost(c, topology.TiFlashServicePort)},
		setting{"server.advertise-status-addr", tiflashHost(c, topology.TiFlashProxyStatusPort)})
}
