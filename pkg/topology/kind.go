// Package topology says what the user wants: one Cluster value made from a
// TidbCluster, defaulted and validated, with every name that follows from it.
//
// It is pure: the same TidbCluster always gives the same Cluster. Nothing here
// knows what exists in Kubernetes or in PD; that is package state.
package topology

// Kind is a component of a TiDB cluster. Its value is the one of the label
// app.kubernetes.io/component and a part of every object's name.
type Kind string

// The components this engine drives, in the order in which they depend on each
// other: a later one needs every earlier one.
const (
	PD   Kind = "pd"
	TiKV Kind = "tikv"
	TiDB Kind = "tidb"
)

// Kinds lists the components in dependency order.
func Kinds() []Kind { return []Kind{PD, TiKV, TiDB} }

// Title is the component's name as its makers write it.
func (k Kind) Title() string {
	switch k {
	case PD:
		return "PD"
	case TiKV:
		return "TiKV"
	case TiDB:
		return "TiDB"
	}
	return string(k)
}

// ParseKind reads a component's name as a user types it, in lower case.
func ParseKind(s string) (Kind, bool) {
	for _, k := range Kinds() {
		if string(k) == s {
			return k, true
		}
	}
	return "", false
}
