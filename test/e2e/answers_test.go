package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tidb"
	"github.com/kubectl-tidb/kubectl-tidb/test/wire/answers"
)

// answers: the real PD and the real TiDB answer as the list says, by which the stand-ins of the simulation at the wire
// are held.
func (p *person) answers(t *testing.T) {
	store := p.store(t, cluster+"-tikv-3")
	scheduler := fmt.Sprint("schedulers/evict-leader-scheduler-", store.ID)
	p.do(t, http.MethodPost, "schedulers", map[string]any{"name": "evict-leader-scheduler", "store_id": store.ID})
	ports := map[topology.Kind]int{topology.PD: topology.PDClientPort, topology.TiDB: tidb.StatusPort}
	for _, a := range answers.All() {
		port, real := ports[a.Of]
		if !real {
			continue
		}
		code, body := p.answer(t, a, port, store.ID)
		if err := a.Check(code, body); err != nil {
			t.Error(err)
		}
	}
	p.do(t, http.MethodDelete, scheduler, nil)
}

// answer asks the first member of a component and returns what the member answers.
func (p *person) answer(t *testing.T, a answers.Answer, port int, store uint64) (code int, body []byte) {
	t.Helper()
	method, path, data := a.HTTP(store)
	host := fmt.Sprintf("%s-%s-0.%[1]s-%[2]s-peer.%[3]s.svc:%d", cluster, a.Of, p.plugin.Namespace, port)
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+host+path, strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	response, err := p.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err = io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body
}
