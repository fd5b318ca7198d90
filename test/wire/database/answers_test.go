package database

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
	"github.com/kubectl-tidb/kubectl-tidb/test/wire/answers"
)

// TestAnswers: the stand-ins answer as the list says, and "make e2e" compares the list with the real PD and TiDB.
func TestAnswers(t *testing.T) {
	m := settled(t, sim.Options{TiCDC: 1, Feeds: 1, Pump: 1, Binlog: true, TiFlash: 1, Learners: 1, Isolated: true})
	m.EvictLeaders(2)
	d := New(m)
	for _, a := range answers.All() {
		method, path, body := a.HTTP(2)
		w := httptest.NewRecorder()
		d.Handler(a.Of, 0, ports[a.Of]).ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		if err := a.Check(w.Code, w.Body.Bytes()); err != nil {
			t.Error(err)
		}
	}
}
