package cluster

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// List writes a table of the hosts.
func (n *Node) List(out io.Writer) error {
	if _, err := n.find(n.Layout.host(0).Name()); err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "HOST\tZONE\tADDRESS\tPODS\tSTATE")
	for _, h := range n.hosts() {
		zone := h.Zone()
		if n.state.Hosts == 1 {
			zone = "-"
		}
		first, last := h.podRange()
		fmt.Fprintf(table, "%s\t%s\t%s\t%s-%s\t%s\n", h.Name(), zone, h.address(), first, last, n.condition(h))
	}
	return table.Flush()
}

// condition says what is wrong with a host.
func (n *Node) condition(h Host) string {
	var wrong []string
	if n.crashed(h) {
		wrong = append(wrong, "crashed")
	}
	for _, cut := range n.state.Cuts {
		if cut.Host == h.Name() {
			wrong = append(wrong, cut.String())
		} else if cut.From == h.Name() {
			wrong = append(wrong, Cut{h.Name(), cut.Host}.String())
		}
	}
	if len(wrong) == 0 {
		return "runs"
	}
	return strings.Join(wrong, ", ")
}
