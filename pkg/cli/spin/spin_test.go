package spin

import (
	"bytes"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
)

// TestLog: where there is no terminal, a wait is silent if it is short, and one line if it is not.
func TestLog(t *testing.T) {
	for took, want := range map[time.Duration]string{late - 1: "", late + 1: "deleting cluster db/basic\n", time.Hour: "deleting cluster db/basic\n"} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			s := On(factory.New(genericiooptions.IOStreams{Out: io.Discard, ErrOut: &log}, func(string) string { return "" }, ""), "deleting cluster db/basic")
			time.Sleep(took)
			s.Say("1 pod is left")
			s.Stop()
			time.Sleep(time.Hour)
			s.Stop()
			if log.String() != want {
				t.Errorf("after %s: %q, want %q", took, log.String(), want)
			}
		})
	}
}
