package leader

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// TestEvictFlags: an end of an eviction waits for nothing, so flags for the wait are refused.
func TestEvictFlags(t *testing.T) {
	for args, says := range map[string]string{
		"basic basic-tikv-0":                     "",
		"basic basic-tikv-0 -o json":             "",
		"basic basic-tikv-0 --stop":              "",
		"basic basic-tikv-0 --stop -o json":      "it does not go with --output",
		"basic basic-tikv-0 --stop --timeout 1m": "it does not go with --timeout",
		"basic basic-tikv-0 --timeout -1m":       "must not be negative",
	} {
		ran := false
		cmd := evictCommand(nil, func(context.Context, eviction) error { ran = true; return nil })
		cmd.SetArgs(strings.Fields(args))
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		err := cmd.Execute()
		if ran != (says == "") || says != "" && (exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: ran %t, %v", args, ran, err)
		}
	}
}
