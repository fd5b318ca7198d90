package ledger

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// SetsKey is the key of the record that the cluster has AdvancedStatefulSets. The record is written before one of these is
// deleted to be made again, and deleted after that. In between the pods have no controller, so that nothing else may show
// which kind of StatefulSets the cluster has.
const SetsKey = "statefulsets"

// RecordOfSets is the value to write under SetsKey.
const RecordOfSets = topology.AdvancedGroup

// Advanced reports whether the ledger, which may be nil, has that record.
func Advanced(cm *corev1.ConfigMap) bool { return cm != nil && cm.Data[SetsKey] == RecordOfSets }

// checkSets fails for a value under SetsKey that this version does not know.
func checkSets(value string) error {
	if value != RecordOfSets {
		return fmt.Errorf("it is %q and not %q", value, RecordOfSets)
	}
	return nil
}
