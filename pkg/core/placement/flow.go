package placement

import "github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"

// network describes as a flow how copies of one region can be placed. The flow goes from the source
// to the rules, and from the rules to stores that match. Each store passes one copy on to the sink.
// If a rule isolates, the flow to its stores passes through places, with one copy in each place.
// The maximum flow is the largest number of copies.
type network struct {
	room  []map[int]int // what can still flow from one node to another one
	rules []int         // the nodes of the rules
}

const source, sink = 0, 1

func (n *network) node() int {
	n.room = append(n.room, map[int]int{})
	return len(n.room) - 1
}

func newNetwork(rules []state.PlacementRule, stores []state.Store) *network {
	n := &network{}
	n.node() // the source
	n.node() // the sink
	nodes := make([]int, len(stores))
	for i := range stores {
		nodes[i] = n.node()
		n.room[nodes[i]][sink] = 1
	}
	for _, r := range rules {
		from := n.node()
		n.rules = append(n.rules, from)
		n.room[source][from] = r.Count
		places := map[string]int{}
		for i, s := range stores {
			if !Matches(r, s) {
				continue
			}
			before := from
			if isolates(r) {
				where := place(r, s)
				if _, ok := places[where]; !ok {
					places[where] = n.node()
					n.room[from][places[where]] = 1
				}
				before = places[where]
			}
			n.room[before][nodes[i]] = 1
		}
	}
	return n
}

// fill makes the flow maximal, and returns its size.
func (n *network) fill() int {
	size := 0
	for n.push(source, map[int]bool{}) {
		size++
	}
	return size
}

// push sends one more copy from a node to the sink, if there is a path.
func (n *network) push(from int, seen map[int]bool) bool {
	if from == sink {
		return true
	}
	seen[from] = true
	for to, room := range n.room[from] {
		if room > 0 && !seen[to] && n.push(to, seen) {
			n.room[from][to]--
			n.room[to][from]++
			return true
		}
	}
	return false
}

// short reports for each rule whether it lacks a copy once the network is full. A rule that could
// give a copy to such a rule counts too.
func (n *network) short() []bool {
	seen := map[int]bool{}
	n.push(source, seen)
	short := make([]bool, len(n.rules))
	for i, node := range n.rules {
		short[i] = seen[node]
	}
	return short
}
