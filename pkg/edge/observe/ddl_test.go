package observe

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestDDLPaused: the first server that serves is asked, and what cannot be asked is no pause.
func TestDDLPaused(t *testing.T) {
	const paused = `{"upgraded_percent":50}`
	one, none := plantest.New(3, 3, 2).Down(0, "t-tidb-0"), plantest.New(3, 3, 2).Down(0, "t-tidb-0", "t-tidb-1")
	for name, c := range map[string]struct {
		cluster *plantest.Cluster
		port    port
		want    string
	}{
		"paused":               {one, says(200, paused), "t-tidb-1"},
		"not paused":           {one, says(200, `"The cluster state is normal."`), ""},
		"too old to know":      {one, says(404, ""), ""},
		"it does not answer":   {one, fails(tunnel), ""},
		"none of them serves":  {none, unasked(t), ""},
		"there are no servers": {plantest.New(3, 3, 0), unasked(t), ""},
	} {
		if got := through(c.port).DDLPaused(t.Context(), c.cluster.Wanted.Cluster, c.cluster.Seen); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestResumeDDL: an answer by which DDL may still be paused is an error, with what was asked for.
func TestResumeDDL(t *testing.T) {
	c := plantest.New(3, 3, 2).Wanted.Cluster
	for name, tt := range map[string]struct {
		port port
		ends bool
	}{
		"it ends": {says(200, `"success!"`), true}, "it refuses": {says(500, ""), false}, "no answer": {fails(tunnel), false},
	} {
		if err := through(tt.port).ResumeDDL(t.Context(), c, 0); (err == nil) != tt.ends || err != nil && !strings.Contains(err.Error(), "let DDL statements run again") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPauseDDL: the server in the member's pod is asked, over a connection of its own that does not stay.
func TestPauseDDL(t *testing.T) {
	server := httptest.NewServer(answering(`"success!"`))
	defer server.Close()
	way := &network{to: server.Listener.Addr().String()}
	o := New(fake.NewClientset(), dial.Any(way), nil, time.Now)
	defer o.Close()
	if err := o.PauseDDL(t.Context(), basic, 1); err == nil {
		t.Error("a cluster is asked that was not observed")
	}
	o.identify(basic, credentials{})
	if err := o.CanPauseDDL(t.Context(), basic, 1); err != nil {
		t.Error(err)
	}
	way.dialed = nil
	if err := o.PauseDDL(t.Context(), basic, 1); err != nil {
		t.Error(err)
	}
	if want := basic.PodHost(topology.TiDB, 1) + ":10080"; !slices.Equal(way.dialed, []string{want}) {
		t.Errorf("dialed %q, want %q", way.dialed, want)
	}
}
