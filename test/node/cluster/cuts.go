package cluster

import (
	"fmt"
	"slices"
	"strings"
)

// What a host can be cut from besides another host.
const (
	fromAll      = ""
	fromOthers   = "others"
	fromAPI      = "api"
	fromOperator = "operator"
)

// Cut is a part of the network that does not pass anything on.
type Cut struct {
	Host string `json:"host"`
	// From is another host, or one of the names above.
	From string `json:"from,omitempty"`
}

func (c Cut) String() string {
	switch c.From {
	case fromAll:
		return "cut from all"
	case fromAPI:
		return "cut from the API server"
	case fromOthers:
		return "cut from the other hosts"
	case fromOperator:
		return "cut from the operator"
	}
	return "cut from " + c.From
}

// concerns reports whether a host is on either side of the cut.
func (c Cut) concerns(host string) bool { return c.Host == host || c.From == host }

// parseCut reads the operands "HOST" and "HOST from OTHER". It does not know which hosts there are.
func parseCut(operands []string) (Cut, error) {
	switch {
	case len(operands) == 1:
		return Cut{Host: operands[0]}, nil
	case len(operands) == 3 && operands[1] == "from" && operands[2] != fromAll:
		return Cut{Host: operands[0], From: operands[2]}, nil
	}
	return Cut{}, fmt.Errorf("cut what? One of: cut HOST, cut HOST from OTHER|%s|%s|%s", fromOthers, fromAPI, fromOperator)
}

// checkCut refuses what no set of rules can do.
func checkCut(cut Cut, hosts []Host) error {
	named := func(name string) bool {
		return slices.ContainsFunc(hosts, func(h Host) bool { return h.Name() == name })
	}
	special := []string{fromAll, fromOthers, fromAPI, fromOperator}
	switch {
	case len(hosts) == 1:
		return fmt.Errorf("%s is the only host; start more: make node-up HOSTS=3", cut.Host)
	case cut.Host == cut.From:
		return fmt.Errorf("%s cannot be cut from itself", cut.Host)
	case !slices.Contains(special, cut.From) && !named(cut.From):
		return fmt.Errorf("there is nothing named %s to be cut from; name a host, %s, %s or %s",
			cut.From, fromOthers, fromAPI, fromOperator)
	case cut.Host == hosts[0].Name() && (cut.From == fromAPI || cut.From == fromOperator):
		return fmt.Errorf("%s has the API server and cannot be cut from it; cut another host", cut.Host)
	}
	return nil
}

// rules are those of the switch, for nft. Each of them drops frames, so that their order does not matter.
func rules(hosts []Host, cuts []Cut) string {
	var drops []string
	for _, cut := range cuts {
		drops = append(drops, dropsOf(cut, hosts)...)
	}
	slices.Sort(drops)
	var text strings.Builder
	// A table that is declared, deleted and declared again is replaced in one step, and it need not be there.
	text.WriteString("table bridge cuts\ndelete table bridge cuts\ntable bridge cuts {\n")
	text.WriteString("\tchain forward {\n\t\ttype filter hook forward priority 0; policy accept;\n")
	for _, drop := range slices.Compact(drops) {
		fmt.Fprintf(&text, "\t\t%s drop\n", drop)
	}
	text.WriteString("\t}\n}\n")
	return text.String()
}

// dropsOf says which frames a cut drops. Those of the API server and of the DNS server have the address of the first
// host, those of pods have addresses of their own.
func dropsOf(cut Cut, hosts []Host) []string {
	first, api := hosts[0].Name(), hosts[0].address()
	between := func(from, to, which string) string {
		return strings.TrimSpace(fmt.Sprintf("iifname %q oifname %q %s", from, to, which))
	}
	switch cut.From {
	case fromAll:
		return []string{fmt.Sprintf("iifname %q", cut.Host), fmt.Sprintf("oifname %q", cut.Host)}
	case fromAPI:
		// Names are still found: in a real cluster the DNS server is a pod and not with the API server.
		return []string{
			between(cut.Host, first, "ip daddr "+api+" meta l4proto { tcp, udp } th dport != 53"),
			between(first, cut.Host, "ip saddr "+api+" meta l4proto { tcp, udp } th sport != 53"),
		}
	case fromOperator:
		// An operator reaches members through the API server, which connects to the kubelet, or to pods. The kubelet and
		// pods still connect to the API server.
		return []string{between(first, cut.Host, "ip saddr "+api+" tcp sport != { 53, "+apiPort+" }")}
	case fromOthers:
		var drops []string
		for _, other := range hosts {
			switch pair := [2]string{cut.Host, other.Name()}; {
			case pair[0] == pair[1]:
			case pair[0] == first:
				drops = append(drops, between(first, pair[1], "ip saddr != "+api), between(pair[1], first, "ip daddr != "+api))
			case pair[1] == first:
				drops = append(drops, between(pair[0], first, "ip daddr != "+api), between(first, pair[0], "ip saddr != "+api))
			default:
				drops = append(drops, between(pair[0], pair[1], ""), between(pair[1], pair[0], ""))
			}
		}
		return drops
	}
	return []string{between(cut.Host, cut.From, ""), between(cut.From, cut.Host, "")}
}
