package ledger

import (
	"strconv"
	"strings"
	"time"
)

// RulesKey is the key of the record that we enabled PD's placement rules. The record is written after PD has
// placement rules enabled, and stays, so that we do not enable the rules a second time. A record that cannot be read
// counts as none.
const RulesKey = "placement-rules-enabled"

// EncodeRules returns the value to write under RulesKey: the time, and the id of the PD cluster.
func EncodeRules(at time.Time, cluster uint64) string {
	return at.UTC().Format(time.RFC3339) + " " + strconv.FormatUint(cluster, 10)
}

func readRules(value string) (time.Time, error) {
	at, _, _ := strings.Cut(value, " ")
	return time.Parse(time.RFC3339, at)
}
