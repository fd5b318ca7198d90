package act

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

var movePrimary = step.MovePrimary{Component: topology.TSO, From: "basic-tso-1", To: "basic-tso-0", ToName: "basic-tso-0"}

// addressOf returns the URL under which a member of TSO registers.
func addressOf(ordinal int) string {
	return cluster.MemberURL(topology.TSO, ordinal, topology.PDClientPort)
}

// withPrimary has PD know two members of TSO, one of them the primary.
func withPrimary(primary string) func(*pd.FakeState) {
	return func(s *pd.FakeState) {
		s.Services = map[string]pd.Service{"tso": {Primary: primary, Members: []pd.ServiceMember{
			{Name: "basic-tso-0", URL: addressOf(0)}, {Name: "basic-tso-1", URL: addressOf(1)},
		}}}
	}
}

// TestMovePrimary: the primary itself is asked, and the step is done when PD names another one.
func TestMovePrimary(t *testing.T) {
	w := newFixture(t)
	w.pd.Update(withPrimary(addressOf(1)))
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		asked++
		if in.URL.Path != "/tso/api/v1/primary/transfer" {
			t.Errorf("asked for %s", in.URL.Path)
		}
		w.pd.Update(withPrimary(addressOf(0)))
		_, _ = io.WriteString(out, `"success"`)
	}))
	defer server.Close()
	w.OnService(func(_ topology.Cluster, k topology.Kind, ordinal int) *pd.ServiceClient {
		if k != topology.TSO || ordinal != 1 {
			t.Errorf("asks %s %d", k, ordinal)
		}
		return &pd.ServiceClient{HTTP: server.Client(), URL: server.URL, Service: string(k)}
	})
	w.do(t, movePrimary)
	w.do(t, movePrimary) // it is done already
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

func TestMovePrimaryPreconditions(t *testing.T) {
	for name, change := range map[string]func(*pd.FakeState){
		"another one is the primary": func(s *pd.FakeState) {
			withPrimary(cluster.MemberURL(topology.TSO, 2, topology.PDClientPort))(s)
		},
		"there is none":      withPrimary(""),
		"the target is gone": func(s *pd.FakeState) { s.Services = map[string]pd.Service{"tso": {Primary: addressOf(1)}} },
		"the target is another one": func(s *pd.FakeState) {
			withPrimary(addressOf(1))(s)
			s.Services["tso"].Members[0].Name = "other"
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t)
			w.pd.Update(change)
			w.isStale(t, movePrimary)
		})
	}
}

type accepts struct{}

func (accepts) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
}

// TestMovePrimaryStays: a primary that accepts the request and stays is a failure, and no restart follows.
func TestMovePrimaryStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		w.pd.Update(withPrimary(addressOf(1)))
		w.OnService(func(_ topology.Cluster, k topology.Kind, _ int) *pd.ServiceClient {
			return &pd.ServiceClient{HTTP: &http.Client{Transport: accepts{}}, URL: addressOf(1), Service: string(k)}
		})
		err := w.Do(t.Context(), movePrimary)
		if old := new(Stale); err == nil || errors.As(err, &old) {
			t.Errorf("got %v", err)
		}
	})
}
