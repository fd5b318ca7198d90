package ledger

import "time"

// RulesKey is the key of the record that we enabled PD's placement rules. It is written after PD has them
// enabled, and stays: with it they are not enabled a second time. One that cannot be read counts as none.
const RulesKey = "placement-rules-enabled"

// EncodeRules returns the value to write under RulesKey.
func EncodeRules(at time.Time) string { return at.UTC().Format(time.RFC3339) }
