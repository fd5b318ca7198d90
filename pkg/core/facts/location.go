package facts

import (
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// aliases are the labels of nodes for the shorter names of labels that users of PD have.
var aliases = map[string][]string{
	"region": {"topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"},
	"zone":   {"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"},
	"host":   {"kubernetes.io/hostname"},
}

// Locations returns the keys of the labels that stores get from their nodes. PD spreads replicas by
// some of these labels, and the user asks for the rest.
func Locations(pd state.PD, wanted []string) []string {
	keys := slices.Clone(pd.LocationLabels)
	for _, key := range wanted {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// LabelsLacking returns the labels that a store lacks in PD, by the labels of its pod's node. A store whose pod or node
// does not exist lacks none.
func (c Component) LabelsLacking(m state.Member) map[string]string {
	if m.Database.Presence != state.Present || m.Database.Removed() ||
		m.Pod == nil || m.Pod.Terminating {
		return nil
	}
	node := c.All.Nodes[m.Pod.Node]
	set := map[string]string{}
	for _, key := range Locations(c.All.PD, c.Want.StoreLabels) {
		if value := Located(node, key); value != "" && !carries(m.StoreLabels, key, value) {
			set[key] = value
		}
	}
	return set
}

// Located returns a node's value of a label, "" if the node has none. PD would understand "" as the
// removal of the label.
func Located(node map[string]string, key string) string {
	for _, name := range append([]string{key}, aliases[key]...) {
		if value := node[name]; value != "" {
			return value
		}
	}
	return ""
}

// carries reports whether a store has a label. PD does not distinguish keys that differ
// in case only, and keeps the first spelling.
func carries(store map[string]string, key, value string) bool {
	for k, v := range store {
		if strings.EqualFold(k, key) {
			return v == value
		}
	}
	return false
}
