package report

import (
	"bytes"
	"testing"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestChoose(t *testing.T) {
	for _, tc := range []struct {
		output   string
		terminal bool
		env      func(string) string
		want     Mode
	}{
		{"", true, env(), TTY},
		{"", true, env("CI", "false"), TTY},
		{"", true, env("CI", "true"), Plain},
		{"", true, env("TERM", "dumb"), Plain},
		{"", true, env("NO_COLOR", "1"), TTY}, // colours are not the same as a live screen
		{"", false, env("TERM", "xterm"), Plain},
		{"json", true, env(), JSON},
		{"json", false, env("CI", "1"), JSON},
	} {
		if got := Choose(tc.output, tc.terminal, tc.env); got != tc.want {
			t.Errorf("%+v: got %s, want %s", tc, got, tc.want)
		}
	}
}

func TestDetect(t *testing.T) {
	var out, errOut bytes.Buffer
	o := Detect(&out, &errOut, "", env("NO_COLOR", "1", "LANG", "en_US.UTF-8"))
	if o.Mode != Plain || !o.NoColor || o.ASCII || o.Size != nil || o.Out != &out || o.ErrOut != &errOut {
		t.Errorf("got %+v", o)
	}
	for _, tc := range []struct {
		env   func(string) string
		ascii bool
	}{
		{env(), true},
		{env("LANG", "C"), true},
		{env("LANG", "C.utf8"), false},
		{env("LC_ALL", "POSIX", "LANG", "de_DE.UTF-8"), true},
		{env("LC_CTYPE", "de_DE.UTF-8", "LANG", "C"), false},
		{env("WT_SESSION", "1"), false},
	} {
		if got := Detect(&out, &errOut, "", tc.env); got.ASCII != tc.ascii {
			t.Errorf("ASCII is %v", got.ASCII)
		}
	}
}
