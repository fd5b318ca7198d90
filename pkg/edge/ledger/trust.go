package ledger

import (
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// Of returns the ledger without the records about another PD cluster than the one with this id. The ledger may be
// nil. A ledger can outlive its TidbCluster. The next TidbCluster with that name may then find records about stores
// of a PD that is gone. While the id is unknown, 0, all records stay, because nothing can be done in PD then. A
// record without an id has never outlived its TidbCluster.
func Of(cm *corev1.ConfigMap, cluster uint64) *corev1.ConfigMap {
	if cm == nil || cluster == 0 {
		return cm
	}
	trusted := *cm
	trusted.Data = maps.Clone(cm.Data)
	maps.DeleteFunc(trusted.Data, func(key, value string) bool {
		about := clusterOf(key, value)
		return about != 0 && about != cluster
	})
	return &trusted
}

// TiesTo reports whether any record says which PD cluster it is about.
func TiesTo(cm *corev1.ConfigMap) bool {
	if cm == nil {
		return false
	}
	for key, value := range cm.Data {
		if clusterOf(key, value) != 0 {
			return true
		}
	}
	return false
}

// clusterOf returns the PD cluster that a record is about, 0 where it does not say.
func clusterOf(key, value string) uint64 {
	if key == RulesKey {
		_, id, _ := strings.Cut(value, " ")
		n, _ := strconv.ParseUint(id, 10, 64)
		return n
	}
	if !isUnfinished(key) {
		return 0
	}
	r, err := decode(value)
	if err != nil {
		return 0
	}
	return r.Cluster
}

// isUnfinished reports whether the record of a key is about something in PD that must be taken back or completed.
func isUnfinished(key string) bool {
	of, _, _ := strings.Cut(key, ".")
	return state.Record(of) == state.RecordEviction || state.Record(of) == state.RecordRemoval
}

// Tie returns the values of open records that do not say which PD cluster they are about, with its id.
func Tie(cm *corev1.ConfigMap, cluster uint64) map[string]string {
	tied := map[string]string{}
	for key, value := range cm.Data {
		r, err := decode(value)
		if !isUnfinished(key) || err != nil || r.Cluster != 0 {
			continue
		}
		r.Cluster = cluster
		if text, err := Encode(r); err == nil {
			tied[key] = text
		}
	}
	return tied
}

// Outlives reports whether the ledger without one of its keys has a record that must outlive the TidbCluster. Such a
// record is open, or only a later version knows what it is.
func Outlives(cm *corev1.ConfigMap, without string) bool {
	for key, value := range cm.Data {
		_, _, isTemplate := readTemplate(key, value)
		_, isDrain, _ := readDrain(key, value)
		if key != without && key != RulesKey && !isTemplate && !isDrain {
			return true
		}
	}
	return false
}
