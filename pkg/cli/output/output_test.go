package output

import (
	"io"
	"testing"

	"github.com/spf13/cobra"
)

func TestFlag(t *testing.T) {
	for value, ok := range map[string]bool{"json": true, "": true, "yaml": false, "JSON": false} {
		var o Format
		cmd := &cobra.Command{RunE: func(*cobra.Command, []string) error { return nil }, SilenceErrors: true, SilenceUsage: true}
		cmd.SetOut(io.Discard)
		o.Bind(cmd, "Output format: json.")
		cmd.SetArgs([]string{"-o", value})
		if err := cmd.Execute(); (err == nil) != ok {
			t.Errorf("-o %q: %v", value, err)
		}
		if o.JSON() != (value == "json") {
			t.Errorf("-o %q: JSON is %v", value, o.JSON())
		}
	}
}
