package topology

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
)

// notInPods are fields of the spec that no pod template, configuration or start script depends on.
// Pods may depend on an unknown field: a change of it is the user's, and is rolled out.
var notInPods = map[string][]string{
	"": {
		"paused", "recoveryMode", "discovery", "services", "pvReclaimPolicy", "enablePVReclaim", "enablePVCReplace",
		"configUpdateStrategy", "statefulSetUpdateStrategy", "podManagementPolicy", "suspendAction",
	},
	"component": {
		"replicas", "service", "scalePolicy", "maxFailoverCount", "failover", "recoverFailover", "spareVolReplaceReplicas",
		"storeLabels", "evictLeaderTimeout", "gracefulShutdownTimeout", "waitLeaderTransferBackTimeout", "storageClassName", "volumeAttributesClassName",
		"configUpdateStrategy", "statefulSetUpdateStrategy", "podManagementPolicy", "suspendAction",
	},
	"volume": {"storageSize", "resources", "storageClassName", "volumeAttributesClassName"},
}

// podDigests returns a digest of what the user's spec says about each component's pods. It is
// made from what the user has written, without defaults, so that all versions of this
// tool compute the same one.
func podDigests(tc *v1alpha1.TidbCluster, c Cluster) map[Kind]string {
	data, err := json.Marshal(tc.Spec)
	spec, ok := decoded(data).(map[string]any)
	if err != nil || !ok {
		return nil
	}
	all := map[Kind]string{}
	for _, k := range Kinds() {
		p, ok := part(tc, k)
		if !ok {
			continue
		}
		own, _ := decoded(encoded(p.whole)).(map[string]any)
		whole := withoutFields(withoutFields(spec, notInPods[""]), []string{services})
		for _, other := range Kinds() {
			delete(whole, string(other))
		}
		own = withoutFields(own, notInPods["component"])
		if requests, ok := own["requests"].(map[string]any); ok {
			own["requests"] = withoutFields(requests, []string{"storage"})
		}
		for _, list := range []string{"storageVolumes", "storageClaims"} {
			volumes, _ := own[list].([]any)
			for i, v := range volumes {
				if v, ok := v.(map[string]any); ok {
					volumes[i] = withoutFields(v, notInPods["volume"])
				}
			}
		}
		var others map[string]any
		if r := readingOf(k); r.others != nil {
			others = r.others(tc)
		}
		all[k] = digest(map[string]any{
			"others": decoded(encoded(others)), "cluster": whole, "component": own, "instance": c.Instance,
			"configured": settings(tc, k) >= 0, "helm": c.HelmMap(k),
		})
	}
	return all
}

func withoutFields(object map[string]any, fields []string) map[string]any {
	object = maps.Clone(object)
	for _, f := range fields {
		delete(object, f)
	}
	return object
}

func encoded(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic("topology: encode JSON: " + err.Error())
	}
	return data
}

// Digest is the same for two texts of JSON that mean the same. The order of fields does not matter,
// nor do fields that are null or empty, which releases of the API types write or leave out. Other
// versions of this tool must compute the same digest, because the digest is kept in the cluster.
func Digest(data []byte) string { return digest(decoded(data)) }

func digest(value any) string {
	sum := sha256.Sum256(encoded(pruned(value)))
	return hex.EncodeToString(sum[:8])
}

// decoded returns nil if data is no JSON.
func decoded(data []byte) any {
	var value any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&value) != nil {
		return nil
	}
	return value
}

// pruned leaves out null, empty objects and lists, and objects that have only such fields.
func pruned(value any) any {
	switch v := value.(type) {
	case map[string]any:
		result := map[string]any{}
		for key, field := range v {
			if field = pruned(field); field != nil {
				result[key] = field
			}
		}
		if len(result) > 0 {
			return result
		}
		return nil
	case []any:
		result := make([]any, len(v)) // an element keeps its place
		for i := range v {
			result[i] = pruned(v[i])
		}
		if len(result) > 0 {
			return result
		}
		return nil
	}
	return value
}
