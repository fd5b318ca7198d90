package ledger

import (
	"strconv"
	"strings"
	"time"
)

// RulesKey is the key of the record that we enabled PD's placement rules. It is written after PD has them
// enabled, and stays: with it they are not enabled a second time. One that cannot be read counts as none.
const RulesKey = "placement-rules-enabled"

// EncodeRules returns the value to write under RulesKey: the time, and the id of the PD cluster.
func EncodeRules(at time.Time, cluster uint64) string {
	return at.UTC().Format(time.RFC3339) + " " + strconv.FormatUint(cluster, 10)
}

func readRules(value string) (time.Time, error) {
	at, _, _ := strings.Cut(value, " ")
	return time.Parse(time.RFC3339, at)
}
