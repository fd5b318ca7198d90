package output

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// TestDocuments: without the flag nothing happens; with it there are reports of all clusters that a
// command has driven so far.
func TestDocuments(t *testing.T) {
	var none *Documents
	none.In("eu-1").Report(event.Event{Type: event.Planned})
	if err := none.Begin(); err != nil || none.Write() != nil {
		t.Error(err)
	}
	var d Documents
	file := filepath.Join(t.TempDir(), "run.md")
	if err := d.Set("markdown=" + file); err != nil || d.String() != "markdown="+file {
		t.Errorf("%v %s", err, d.String())
	}
	for i, cluster := range []string{"one", "two"} {
		if err := d.Begin(); err != nil {
			t.Fatal(err)
		}
		d.In("eu-1").Report(event.Event{Type: event.Done, Cluster: cluster, Time: time.Unix(int64(i+1), 0), Outcome: event.OutcomeConverged})
		if err := d.Write(); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(file)
		if strings.Count(string(text), "converged in") != i+1 || !strings.Contains(string(text), "eu-1 / "+cluster) {
			t.Errorf("after %s: %s", cluster, text)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.Write(); err == nil || !strings.Contains(err.Error(), "write the report "+file) {
		t.Errorf("%v", err)
	}
}

// TestDevice: /dev/stdout that goes to a file keeps what is in it.
func TestDevice(t *testing.T) {
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	path := fmt.Sprintf("/dev/fd/%d", log.Fd())
	if _, err := os.Stat(path); err != nil {
		t.Skip("this system has no /dev/fd")
	}
	fmt.Fprintln(log, "before")
	var d Documents
	if err := d.Set("html=" + path); err != nil {
		t.Fatal(err)
	}
	if err := d.Begin(); err != nil || d.WriteRuns(nil) != nil {
		t.Errorf("%v, code %d", err, exit.Of(err))
	}
	if text, _ := os.ReadFile(log.Name()); !strings.HasPrefix(string(text), "before\n<!DOCTYPE html>") {
		t.Errorf("%.100q", text)
	}
}

func TestCompleteDocuments(t *testing.T) {
	cmd := &cobra.Command{Use: "sync", Run: func(*cobra.Command, []string) {}}
	new(Documents).Bind(cmd, "Write.")
	complete, ok := cmd.GetFlagCompletionFunc("report")
	if !ok {
		t.Fatal("no completion")
	}
	for begin, want := range map[string]string{
		"": "junit= markdown= html=", "junit=x,": "junit=x,junit= junit=x,markdown= junit=x,html=", "html=": "",
	} {
		if got, _ := complete(cmd, nil, begin); strings.Join(got, " ") != want {
			t.Errorf("%q: %q", begin, got)
		}
	}
}
