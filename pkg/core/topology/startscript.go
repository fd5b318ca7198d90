package topology

import (
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// WaitsForOwnAddress reports whether PD and TiKV start only when the names of their pods lead to these pods. As in
// tidb-operator, the first generation of start scripts knows no flags.
func (c Cluster) WaitsForOwnAddress() bool {
	return c.startsWith(v1alpha1.StartScriptV2FeatureFlagWaitForDnsNameIpMatch)
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
	case c.startsWith(v1alpha1.StartScriptV2FeatureFlagPreferPDAddressesOverDiscovery):
		warnings = append(warnings, warn(at, "PreferPDAddressesOverDiscovery has no effect without pdAddresses"))
	}
	if old != nil && c.WaitsForOwnAddress() && !old.WaitsForOwnAddress() {
		warnings = append(warnings, warn(at, "WaitForDnsNameIpMatch may have no effect: a start script of tidb-operator that is in use is kept"))
	}
	return warnings
}
