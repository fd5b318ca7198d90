//go:build linux

package main

import (
	"strings"
	"testing"
)

func TestParseUp(t *testing.T) {
	all, err := parseUp(nil)
	if err != nil || all.hosts != 0 || len(all.others) != 0 {
		t.Errorf("without flags: %d hosts, others %v, %v", all.hosts, all.others, err)
	}
	some, err := parseUp([]string{"-hosts", "3", "-parts", "demo"})
	if err != nil || some.hosts != 3 || len(some.parts)+len(some.others) != len(all.parts) || len(some.others) == 0 {
		t.Errorf("for a demo: %d hosts, others %v, %v", some.hosts, some.others, err)
	}
	for arguments, says := range map[string]string{
		"-hosts -1": "1 to 16 hosts", "-hosts 17": "1 to 16 hosts", "-parts some": "only all and demo", "3": "-hosts 3",
	} {
		if _, err := parseUp(strings.Fields(arguments)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}
