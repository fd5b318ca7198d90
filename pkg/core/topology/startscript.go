package topology

import (
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// WaitsForOwnAddress reports whether TiKV starts only when the names of its pods lead to these pods. So does PD
// unless told otherwise. As in tidb-operator, the first generation of start scripts knows no flags.
func (c Cluster) WaitsForOwnAddress() bool {
	return c.startsWith(v1alpha1.StartScriptV2FeatureFlagWaitForDnsNameIpMatch)
}

// PDWaitsForOwnAddress reports the same of PD alone, which has a flag against the wait. TiKV has none: as with
// tidb-operator, NoWaitDNS does not concern TiKV.
func (c Cluster) PDWaitsForOwnAddress() bool {
	return c.WaitsForOwnAddress() && !c.startsWith(v1alpha1.StartScriptV2FeatureFlagNoWaitDNS)
}

// PDStartsWithBash reports whether the first line of PD's start script names bash.
func (c Cluster) PDStartsWithBash() bool {
	return c.startsWith(v1alpha1.StartScriptV2FeatureFlagBashShebang)
}

// PrefersPDAddresses reports whether members are to reach PD by spec.pdAddresses.
func (c Cluster) PrefersPDAddresses() bool {
	return c.startsWith(v1alpha1.StartScriptV2FeatureFlagPreferPDAddressesOverDiscovery)
}

func (c Cluster) startsWith(flag v1alpha1.StartScriptV2FeatureFlag) bool {
	spec := c.Source.Spec
	return c.Source.StartScriptVersion() == v1alpha1.StartScriptV2 && slices.Contains(spec.StartScriptV2FeatureFlags, flag)
}

// warningsOfStart lists flags of start scripts that have no effect, or none on what runs.
func warningsOfStart(old *Cluster, c Cluster) []Warning {
	at, flags := field.NewPath("spec", "startScriptV2FeatureFlags"), c.Source.Spec.StartScriptV2FeatureFlags
	var warnings []Warning
	switch {
	case len(flags) == 0:
		return nil
	case c.Source.StartScriptVersion() != v1alpha1.StartScriptV2:
		return []Warning{warn(at, "has no effect: startScriptVersion is not v2")}
	case c.PrefersPDAddresses():
		warnings = append(warnings, warn(at, "PreferPDAddressesOverDiscovery has no effect without pdAddresses"))
	}
	for _, flag := range []v1alpha1.StartScriptV2FeatureFlag{
		v1alpha1.StartScriptV2FeatureFlagWaitForDnsNameIpMatch, v1alpha1.StartScriptV2FeatureFlagNoWaitDNS,
	} {
		if old != nil && c.startsWith(flag) && !old.startsWith(flag) {
			warnings = append(warnings, warn(at, string(flag)+" may have no effect: a start script of tidb-operator that is in use is kept"))
		}
	}
	if c.PDStartsWithBash() && (old == nil || !old.PDStartsWithBash()) {
		warnings = append(warnings, warn(at, "BashShebang has no effect on how PD starts: the pod runs the script with /bin/sh"))
	}
	return warnings
}
