package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBadInput(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"-runs 0", usage, "-runs 0: it has to be 1 at least"},
		{"-runs -1", usage, "-runs -1"},
		{"-runs many", usage, "invalid value"},
		{"-load -1", usage, "-load -1: it has to be 0 at least"},
		{"-twice", usage, "not defined: -twice"},
		{"again", usage, `unexpected argument "again"`},
		{"-h", passed, "{operation}"},
	} {
		var out, errOut bytes.Buffer
		code := run(t.Context(), strings.Fields(c.args), &out, &errOut)
		if code != c.code || !strings.Contains(errOut.String(), c.says) || out.Len() > 0 {
			t.Errorf("%s: exit code %d, want %d; %q has to have %q; stdout %q", c.args, code, c.code, errOut.String(), c.says, out.String())
		}
	}
}

func TestNoNode(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	t.Setenv("KUBECONFIG_E2E", file)
	wantOneLine := func(says string) {
		t.Helper()
		var out, errOut bytes.Buffer
		code := run(t.Context(), nil, &out, &errOut)
		if text := errOut.String(); code != noNode || strings.Count(text, "\n") != 1 || !strings.Contains(text, says) || out.Len() > 0 {
			t.Errorf("exit code %d, want %d and one line with %q: %q", code, noNode, says, text)
		}
	}
	wantOneLine("no such file")

	const config = `{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:1"}}],"contexts":[{"name":"c","context":{"cluster":"c"}}]}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	wantOneLine("ask http://127.0.0.1:1 for its version")
}
