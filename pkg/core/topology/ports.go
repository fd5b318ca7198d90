package topology

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/pingcap/tidb-operator/pkg/apis/util/config"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// listening is a setting of where a component listens, which its start script does not override. Services, probes and
// whoever asks the component use one value only.
type listening struct {
	key string
	// fits are the values with which the component is reached, as fmt.Sprint shows them.
	fits []string
	// ends is what an address has to end with; "" where fits says it all.
	ends string
	why  string
}

func (l listening) fit(v any) bool {
	text := fmt.Sprint(v)
	return v == nil || slices.Contains(l.fits, text) || l.ends != "" && strings.HasSuffix(text, l.ends)
}

// The start scripts of PD, TiKV, TiCDC and Pump give all addresses as flags, which come before the configuration.
var (
	tidbListens = []listening{
		{key: "port", fits: []string{fmt.Sprint(TiDBServerPort)}, why: fmt.Sprintf("the Services and the probe of TiDB use %d", TiDBServerPort)},
		{key: "status.status-port", fits: []string{fmt.Sprint(TiDBStatusPort)}, why: fmt.Sprintf("the Services and what asks whether a server serves use %d", TiDBStatusPort)},
		{key: "status.status-host", fits: everywhere(""), why: "the status port is asked from outside of the pod"},
		{key: "status.report-status", fits: []string{"true"}, why: "without its status port it is not known whether a server serves"},
	}
	tiproxyListens = []listening{
		{key: "proxy.addr", fits: everywhere(fmt.Sprintf(":%d", TiProxyServerPort)), why: fmt.Sprintf("the Services of TiProxy use %d, from outside of the pod", TiProxyServerPort)},
		{key: "api.addr", fits: everywhere(fmt.Sprintf(":%d", TiProxyStatusPort)), why: fmt.Sprintf("what asks whether a TiProxy serves uses %d, from outside of the pod", TiProxyStatusPort)},
	}
	tiflashListens = []listening{
		{key: "flash.service_addr", ends: fmt.Sprintf(":%d", TiFlashServicePort), why: fmt.Sprintf("a store of TiFlash is known by its address with %d", TiFlashServicePort)},
		{key: "flash.proxy.addr", ends: fmt.Sprintf(":%d", TiFlashProxyPort), why: fmt.Sprintf("the Service of TiFlash has %d", TiFlashProxyPort)},
	}
)

// everywhere returns the ways to write that all addresses of a pod are listened on, with a port.
func everywhere(port string) []string {
	var all []string
	for _, host := range []string{"", "0.0.0.0", "[::]", "::"} {
		all = append(all, host+port)
	}
	return all
}

// unreachable returns the settings of a configuration with which the component could not be reached.
func unreachable(c *config.GenericConfig, all []listening) []listening {
	var wrong []listening
	for _, l := range all {
		if !l.fit(valueOf(c, l.key)) {
			wrong = append(wrong, l)
		}
	}
	return wrong
}

// valueOf returns the value of a setting, nil where there is none.
func valueOf(c *config.GenericConfig, key string) any {
	if c == nil || c.MP == nil {
		return nil
	}
	return Flat(c.MP)[key]
}

// validateListening refuses settings with which a component could not be reached, unless they were there before. Pods
// of a cluster that was taken over with such settings may have been made to fit in another way. Every change of such a
// cluster would otherwise be refused. Warnings names them then. old is nil for a new cluster.
func validateListening(old, tc *v1alpha1.TidbCluster) field.ErrorList {
	var errs field.ErrorList
	for _, r := range readings {
		was, is := configOf(old, r.kind), configOf(tc, r.kind)
		for _, l := range unreachable(is, r.listens) {
			before, v := valueOf(was, l.key), valueOf(is, l.key)
			if before == nil || fmt.Sprint(before) != fmt.Sprint(v) {
				errs = append(errs, field.Invalid(l.path(tc, r.kind), v, l.why+": take the setting away"))
			}
		}
	}
	return errs
}

// listeningWarnings names such settings of a cluster that has them.
func listeningWarnings(old *Cluster, c Cluster) []Warning {
	if old == nil {
		return nil // they are refused
	}
	var warnings []Warning
	for _, r := range readings {
		is := configOf(c.Written, r.kind)
		several := r.noConfig == "{}" // config set takes one of a component that has one
		for _, l := range unreachable(is, r.listens) {
			end := remedy.Plugin(c.Namespace, "config", "set", c.Name, string(r.kind), l.key+"-")
			if several {
				end = c.Plugin("edit")
			}
			warnings = append(warnings, warn(l.path(c.Written, r.kind), fmt.Sprintf("is %v: %s", valueOf(is, l.key), l.why), remedy.Run("take it away", end)))
		}
	}
	return warnings
}

func (l listening) path(tc *v1alpha1.TidbCluster, k Kind) *field.Path {
	return FieldOf(tc, k).Child("config").Key(l.key)
}

// configOf returns the configuration of a component in a spec, nil where it has none.
func configOf(tc *v1alpha1.TidbCluster, k Kind) *config.GenericConfig {
	if tc == nil {
		return nil
	}
	spec, ok := part(tc, k)
	if !ok || len(spec.configs) == 0 {
		return nil
	}
	return spec.configs[0]
}
