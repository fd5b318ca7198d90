package pd

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ask"
)

// listOfMany returns a list of n elements in JSON.
func listOfMany(element string, n int) string {
	return "[" + strings.Repeat(element+",", n-1) + element + "]"
}

// TestAnswersHaveLimits: an answer with more elements than PD may report ends the call at once, and is not decoded any
// further. Three bytes of an element become a kilobyte in memory, and the memory of a daemon is that of all its
// clusters.
func TestAnswersHaveLimits(t *testing.T) {
	for name, c := range map[string]struct {
		path, answer string
		call         func(context.Context, Client) error
	}{
		"stores": {"stores", `{"count":1,"stores":` + listOfMany("{}", maxStores+1) + `}`,
			func(ctx context.Context, c Client) error { _, err := c.Stores(ctx); return err }},
		"labels of a store": {"stores", `{"count":1,"stores":[{"store":{"id":1,"labels":` + listOfMany("{}", 20*maxStores) + `}}]}`,
			func(ctx context.Context, c Client) error { _, err := c.Stores(ctx); return err }},
		"members": {"members", `{"header":{"cluster_id":7},"members":` + listOfMany("{}", maxMembers+1) + `}`,
			func(ctx context.Context, c Client) error { _, err := c.Members(ctx); return err }},
		"many members": {"members", `{"members":` + listOfMany("{}", 100_000) + `}`,
			func(ctx context.Context, c Client) error { _, err := c.Members(ctx); return err }},
		"health": {"health", listOfMany("{}", maxMembers+1),
			func(ctx context.Context, c Client) error { _, err := c.Health(ctx); return err }},
		"schedulers": {"schedulers", listOfMany(`""`, 1001),
			func(ctx context.Context, c Client) error { _, err := c.Schedulers(ctx); return err }},
		"rules": {"config/placement-rule", `[{"group_id":"a","rules":` + listOfMany(`{"count":1}`, maxRules) + `},{"rules":[{"count":1}]}]`,
			func(ctx context.Context, c Client) error { _, err := c.PlacementRules(ctx); return err }},
		"groups of rules": {"config/placement-rule", listOfMany("{}", 20*maxRules+1),
			func(ctx context.Context, c Client) error { _, err := c.PlacementRules(ctx); return err }},
		"configuration": {"config/replicate", `{` + strings.Repeat(`"":1,`, 20_000) + `"max-replicas":3}`,
			func(ctx context.Context, c Client) error { _, err := c.ReplicationConfig(ctx); return err }},
		"bytes": {"config/replicate", `{"max-replicas":3,"x":"` + strings.Repeat("x", 1<<20) + `"}`,
			func(ctx context.Context, c Client) error { _, err := c.ReplicationConfig(ctx); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			inGroup(t, nil, func(t *testing.T, g *group, client Client) {
				g.answer("GET /pd/api/v1/"+c.path, c.answer)
				err := c.call(t.Context(), client)
				if !errors.Is(err, ask.ErrTooLarge) || isOneOf(err, ErrUnreachable, ErrNoLeader, ErrNotReady) || len(err.Error()) > 300 {
					t.Errorf("%.300v", err)
				}
				if n := g.count("GET /pd/api/v1/" + c.path); n != 1 {
					t.Errorf("asked %d times", n)
				}
			})
		})
	}
}

// TestAsManyAsPDMayReport: the largest number is no error.
func TestAsManyAsPDMayReport(t *testing.T) {
	var l storeList
	text := `{"count":20000,"stores":` + listOfMany("{}", maxStores) + `,"more":[{"a":[]}]}`
	if err := l.decode(json.NewDecoder(ask.Within(strings.NewReader(text), limitsOf("/pd/api/v1/stores")))); err != nil || len(l) != maxStores {
		t.Errorf("%d, %v", len(l), err)
	}
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.answer("GET /pd/api/v1/config/placement-rule", `[{"group_id":"a","rules":`+listOfMany(`{"count":1}`, maxRules)+`}]`)
		if got, err := c.PlacementRules(t.Context()); err != nil || len(got[0].Rules) != maxRules {
			t.Errorf("%v", err)
		}
		g.answer("GET /pd/api/v1/health", listOfMany("{}", maxMembers))
		if got, err := c.Health(t.Context()); err != nil || len(got) != maxMembers {
			t.Errorf("%v", err)
		}
		g.answer("GET /pd/api/v1/stores", `{"count":0,"stores":null}`)
		if got, err := c.Stores(t.Context()); err != nil || got == nil || len(got) != 0 {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// TestNoListOfStores: what is no list of stores is an error, and not an empty list: every store would look removed.
func TestNoListOfStores(t *testing.T) {
	for _, text := range []string{`[]`, `null`, `7`, `{"stores":{}}`, `{"stores":7}`, `{"stores":[7]}`, `{"stores":[{}`, `{"stores":[{}]}{}`, `{"stores":[{}]`, ``} {
		inGroup(t, nil, func(t *testing.T, g *group, c Client) {
			g.answer("GET /pd/api/v1/stores", text)
			if got, err := c.Stores(t.Context()); err == nil {
				t.Errorf("%s: %v", text, got)
			}
		})
	}
}

// TestCompressedAnswer: an answer that is compressed although nobody asked for it is not unpacked.
func TestCompressedAnswer(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		accepted := ""
		g.handle("GET /pd/api/v1/stores", func(w http.ResponseWriter, r *http.Request) {
			accepted = r.Header.Get("Accept-Encoding")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write([]byte(`{"count":1,"stores":` + listOfMany("{}", 1000) + `}`))
			_ = z.Close()
		})
		if got, err := c.Stores(t.Context()); err == nil || accepted != "" {
			t.Errorf("%d stores, accepted %q", len(got), accepted)
		}
	})
}
