package database

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
	"github.com/kubectl-tidb/kubectl-tidb/test/wire/answers"
)

// labelled are answers with labels, which the cluster of "make e2e" does not have.
var labelled = []answers.Answer{
	{Of: topology.PD, Request: "GET /pd/api/v1/stores", Keys: "stores/store/labels/key:text"},
	{Of: topology.PD, Request: "GET /pd/api/v1/config/placement-rule", Keys: "/rules/location_labels/:text"},
}

// TestAnswers: the stand-ins answer as the list says, and "make e2e" compares the list with the real PD and TiDB.
func TestAnswers(t *testing.T) {
	m := settled(t, sim.Options{TiCDC: 1, Feeds: 1, Pump: 1, Binlog: true, TiFlash: 1, Learners: 1, Isolated: true})
	m.EvictLeaders(2)
	d := New(m)
	for _, a := range append(answers.All(), labelled...) {
		method, path, body := a.HTTP(2)
		w := httptest.NewRecorder()
		d.Handler(a.Of, 0, ports[a.Of]).ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		if err := a.Check(w.Code, w.Body.Bytes()); err != nil {
			t.Error(err)
		}
	}
}
