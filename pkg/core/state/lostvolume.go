package state

import (
	"fmt"
	"strings"
)

// LostVolume is a volume that no node can use. It is the zero value where no volume is known to be lost.
type LostVolume struct {
	Name  string
	Claim string // that is bound to the volume
	// Nodes are the only nodes that can use the volume, and none of them exists. There are none where the volume itself
	// does not exist.
	Nodes []string
}

// String says why no node can use the volume.
func (v LostVolume) String() string {
	switch len(v.Nodes) {
	case 0:
		return fmt.Sprintf("volume %s does not exist", v.Name)
	case 1:
		return fmt.Sprintf("volume %s can be used only on node %s, which does not exist", v.Name, v.Nodes[0])
	}
	return fmt.Sprintf("volume %s can be used only on nodes %s, which do not exist", v.Name, strings.Join(v.Nodes, ", "))
}

// LacksVolume reports whether the pod of a member waits for a volume that no node can use. Such a pod never gets a node.
func (m Member) LacksVolume() bool { return m.LostVolume.Name != "" }
