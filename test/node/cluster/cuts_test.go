package cluster

import (
	"slices"
	"strings"
	"testing"
)

func threeHosts() []Host {
	layout := Layout{Root: "/state/node"}
	return []Host{layout.host(0), layout.host(1), layout.host(2)}
}

func TestParseCut(t *testing.T) {
	for operands, want := range map[string]Cut{
		"node1": {Host: "node1"}, "node1 from node2": {"node1", "node2"}, "node1 from api": {"node1", fromAPI},
	} {
		if got, err := parseCut(strings.Fields(operands)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", operands, got, err)
		}
	}
	for _, operands := range [][]string{{}, {"node1", "from"}, {"node1", "to", "node2"}, {"node1", "node2"}, {"node1", "from", ""}} {
		if _, err := parseCut(operands); err == nil {
			t.Errorf("%q was accepted", operands)
		}
	}
}

func TestCheckCut(t *testing.T) {
	hosts := threeHosts()
	for _, good := range []Cut{
		{"node0", fromAll}, {"node0", fromOthers}, {"node0", "node1"}, {"node1", fromAPI}, {"node1", fromOperator},
	} {
		if err := checkCut(good, hosts); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	for cut, says := range map[Cut]string{
		{"node1", "node1"}:      "from itself",
		{"node1", "node3"}:      "name a host, others, api or operator",
		{"node0", fromAPI}:      "cut another host",
		{"node0", fromOperator}: "cut another host",
	} {
		if err := checkCut(cut, hosts); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v", cut, err)
		}
	}
	if err := checkCut(Cut{Host: "node0"}, hosts[:1]); err == nil || !strings.Contains(err.Error(), "HOSTS=3") {
		t.Errorf("the only host: %v", err)
	}
}

func TestDropsOfCuts(t *testing.T) {
	for _, test := range []struct {
		cut  Cut
		want []string
	}{
		{Cut{"node1", fromAll}, []string{`iifname "node1"`, `oifname "node1"`}},
		{Cut{"node1", "node2"}, []string{`iifname "node1" oifname "node2"`, `iifname "node2" oifname "node1"`}},
		{Cut{"node1", fromAPI}, []string{
			`iifname "node0" oifname "node1" ip saddr 10.88.0.1 meta l4proto { tcp, udp } th sport != 53`,
			`iifname "node1" oifname "node0" ip daddr 10.88.0.1 meta l4proto { tcp, udp } th dport != 53`,
		}},
		{Cut{"node1", fromOperator}, []string{`iifname "node0" oifname "node1" ip saddr 10.88.0.1 tcp sport != { 53, 6443 }`}},
		{Cut{"node1", fromOthers}, []string{
			`iifname "node0" oifname "node1" ip saddr != 10.88.0.1`,
			`iifname "node1" oifname "node0" ip daddr != 10.88.0.1`,
			`iifname "node1" oifname "node2"`, `iifname "node2" oifname "node1"`,
		}},
		{Cut{"node0", fromOthers}, []string{
			`iifname "node0" oifname "node1" ip saddr != 10.88.0.1`, `iifname "node0" oifname "node2" ip saddr != 10.88.0.1`,
			`iifname "node1" oifname "node0" ip daddr != 10.88.0.1`, `iifname "node2" oifname "node0" ip daddr != 10.88.0.1`,
		}},
	} {
		got := dropsOf(test.cut, threeHosts())
		slices.Sort(got)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s %s: %q", test.cut.Host, test.cut, got)
		}
	}
}

func TestRulesReplaceEarlierOnes(t *testing.T) {
	const empty = "table bridge cuts\ndelete table bridge cuts\ntable bridge cuts {\n\tchain forward {\n" +
		"\t\ttype filter hook forward priority 0; policy accept;\n\t}\n}\n"
	if got := rules(threeHosts(), nil); got != empty {
		t.Errorf("without cuts:\n%s", got)
	}
	twice := rules(threeHosts(), []Cut{{"node1", "node2"}, {"node2", "node1"}})
	if strings.Count(twice, " drop\n") != 2 {
		t.Errorf("a cut from both sides:\n%s", twice)
	}
}

func TestWhoIsCutFromTheAPIServer(t *testing.T) {
	for cut, want := range map[Cut]bool{
		{"node1", fromAll}: true, {"node1", fromAPI}: true, {"node1", "node0"}: true,
		{"node0", fromAll}: true, {"node0", "node1"}: true,
		{"node1", fromOthers}: false, {"node1", fromOperator}: false, {"node1", "node2"}: false,
		{"node2", fromAll}: false, {"node0", fromOthers}: false, {"node0", "node2"}: false,
	} {
		n := &Node{state: State{Hosts: 3, Cuts: []Cut{cut}}}
		if got := n.cutFromAPI(n.hosts()[1]); got != want {
			t.Errorf("node1, with %s %s: %t", cut.Host, cut, got)
		}
		if n.cutFromAPI(n.hosts()[0]) {
			t.Errorf("node0, with %s %s", cut.Host, cut)
		}
	}
}
