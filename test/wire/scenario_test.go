package wire

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// A scenario is a fault that was mended, shown to a whole command. docs/testing.md says for each what was put back in
// the code, and how the scenario fails then.

// create makes the cluster of the world's options.
func (w *World) create(t *testing.T) {
	t.Helper()
	o := w.Model.Options
	args := []string{
		"create", "basic", "--version", "v8.1.0", "--storage", "1Gi", "--pd", fmt.Sprint(o.PD), "--tikv", fmt.Sprint(o.TiKV),
		"--tidb", fmt.Sprint(o.TiDB), "--tiflash", fmt.Sprint(o.TiFlash), "--ticdc", fmt.Sprint(o.TiCDC),
	}
	if o.TiProxy > 0 { // releases of TiProxy have numbers of their own
		args = append(args, "--tiproxy", fmt.Sprint(o.TiProxy), "--tiproxy-version", "v1.3.0")
	}
	if w.encrypted {
		args = append(args, "--tls")
	}
	w.Must(t, 0, args...)
}

// created makes the cluster, and gives PD time to move regions and leaders to all stores.
func (w *World) created(t *testing.T) {
	t.Helper()
	w.create(t)
	w.Sleep(2 * time.Minute)
}

// scenario runs a script in a world with a cluster, and wants that no rule of safety is broken.
func scenario(t *testing.T, o sim.Options, script func(t *testing.T, w *World)) {
	t.Helper()
	o.Seed = 1
	Run(t, o, func(t *testing.T, w *World) {
		defer w.transcript(t)
		w.created(t)
		script(t, w)
		w.wantUnbroken(t)
	})
}

// attempt runs a command that is not to end well within a time, and returns what it printed and what it wrote.
func (w *World) attempt(t *testing.T, within time.Duration, args ...string) (text string, writes []Request) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	before := len(w.requests)
	r := w.said(w.Command(ctx, args...))
	if r.Code == 0 {
		t.Errorf("kubectl tidb %v ends with exit code 0\n%s%s", args, r.Out, r.Err)
	}
	for _, q := range w.requests[before:] {
		if !strings.HasPrefix(q.What, http.MethodGet+" ") {
			writes = append(writes, q)
		}
	}
	return r.Out + r.Err, writes
}

// wantNone fails the test where a request was sent that takes something away: method and a part of the path.
func wantNone(t *testing.T, writes []Request, method, part string) {
	t.Helper()
	for _, q := range writes {
		if strings.HasPrefix(q.What, method+" ") && strings.Contains(q.What, part) {
			t.Errorf("%s was asked: %s", q.Server, q.What)
		}
	}
}

// wantText fails the test where a command does not say something.
func wantText(t *testing.T, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("%q is not in\n%s", want, got)
	}
}

// pods, schedulers and stores are parts of paths.
const (
	pods       = "/pods/"
	schedulers = "/schedulers"
	stores     = "/pd/api/v1/store/"
)

// count returns how many requests have a method and path.
func count(all []Request, what string) (n int) {
	for _, q := range all {
		if q.What == what {
			n++
		}
	}
	return n
}
