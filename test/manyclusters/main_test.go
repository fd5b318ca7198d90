package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestCheck: flags that need others are refused at the start.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		o    options
		says string
	}{
		{options{}, ""},
		{options{memory: true, program: "p"}, ""},
		{options{memory: true, program: "p", commands: true}, ""},
		{options{memory: true, commands: true}, "give -program"},
		{options{program: "p", commands: true}, "needs -memory"},
		{options{program: "p"}, "needs -memory"},
	} {
		if err := c.o.check(); (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

// TestSizeShown: the result says how large the clusters were.
func TestSizeShown(t *testing.T) {
	var out bytes.Buffer
	result{clusters: 7, size: size{pd: 1, tikv: 4, tidb: 5}}.print(&out)
	if want := "7 of 1 PD, 4 TiKV, 5 TiDB"; !strings.Contains(out.String(), want) {
		t.Errorf("got %s", out.String())
	}
}
