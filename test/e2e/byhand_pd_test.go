package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// person sends requests to PD, as a person with pd-ctl does.
type person struct {
	environment
	http *http.Client
	// resigned is when PD last got another leader by this person.
	resigned time.Time
}

func (s environment) person(t *testing.T) *person {
	transport := &http.Transport{DialContext: s.pods.DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	return &person{environment: s, http: &http.Client{Transport: transport, Timeout: 10 * time.Second}}
}

// ask sends a request to PD, to any member, which hands it on to the leader.
func (p *person) ask(ctx context.Context, method, path string, body any) error {
	var failure error
	for n := range 3 {
		if failure = p.askMember(ctx, n, method, path, body); failure == nil {
			return nil
		}
	}
	return failure
}

func (p *person) askMember(ctx context.Context, n int, method, path string, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	url := fmt.Sprintf("http://%s-pd-%d.%s-pd-peer.%s.svc:2379/pd/api/v1/%s", cluster, n, cluster, p.plugin.Namespace, path)
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(data))
	if err != nil {
		return err
	}
	response, err := p.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s %s %w", method, url, response.Status, text, err)
	}
	return nil
}

// do asks PD until it has agreed.
func (p *person) do(t *testing.T, method, path string, body any) {
	t.Helper()
	var failure error
	t.Cleanup(func() {
		if failure != nil {
			t.Logf("%s %s: %v", method, path, failure)
		}
	})
	poll(t, time.Minute, "PD agrees to "+method+" "+path, func(ctx context.Context) bool {
		failure = p.ask(ctx, method, path, body)
		return failure == nil
	})
}

// resign asks PD's leader to make way, and returns when another one leads.
func (p *person) resign(t *testing.T) {
	t.Helper()
	client := p.pdClient()
	defer client.Close()
	before := p.leader(t, client)
	begun := time.Now()
	p.do(t, http.MethodPost, "leader/resign", nil)
	poll(t, time.Minute, "PD has another leader", func(ctx context.Context) bool {
		m, err := client.Leader(ctx)
		return err == nil && m.Name != before
	})
	p.resigned = time.Now()
	t.Logf("PD's leader %s has resigned, and another one leads after %v", before, time.Since(begun).Round(time.Millisecond))
}

func (p *person) leader(t *testing.T, client pd.Client) string {
	t.Helper()
	m, err := client.Leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m.Name
}

// aged is how old a leader of PD has to be so that the next one calls stores that
// serve Disconnected. It saves the first heartbeat that it hears of a store, which
// comes within 10 s, and not the next ones; and a store whose heartbeat, as it was
// saved, is more than 20 s old is Disconnected until the next one.
const aged = 35 * time.Second

// silence has PD's leader resign so that the new one calls stores that serve
// Disconnected.
func (p *person) silence(t *testing.T) {
	t.Helper()
	client := p.pdClient()
	defer client.Close()
	poll(t, patience, "a new leader of PD calls a store Disconnected", func(ctx context.Context) bool {
		if time.Since(p.resigned) < aged {
			return false
		}
		p.resign(t)
		stores, err := client.Stores(ctx)
		return err == nil && slices.ContainsFunc(stores, func(s pd.Store) bool { return s.StateName == pd.StateNameDisconnected })
	})
}

// store is the store of a pod in PD.
func (s environment) store(t *testing.T, pod string) pd.Store {
	t.Helper()
	client := s.pdClient()
	defer client.Close()
	stores, err := client.Stores(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, store := range stores {
		if strings.HasPrefix(store.Address, pod+".") {
			return store
		}
	}
	t.Fatalf("PD has no store of %s", pod)
	return pd.Store{}
}

// evicting are the stores from which PD evicts leaders, as soon as it says so: a new
// leader has to load its schedulers first.
func (s environment) evicting(t *testing.T) (stores []uint64) {
	t.Helper()
	client := s.pdClient()
	defer client.Close()
	poll(t, patience, "PD lists its schedulers", func(ctx context.Context) (known bool) {
		var err error
		stores, err = client.EvictLeaderStores(ctx)
		return err == nil
	})
	return stores
}

// wantNoSchedulers asserts that PD evicts leaders from no store.
func (s environment) wantNoSchedulers(t *testing.T) {
	t.Helper()
	if stores := s.evicting(t); len(stores) > 0 {
		t.Errorf("PD still evicts leaders from stores %v", stores)
	}
}
