package pd

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// oldPD behaves as PD before v7.3: until loaded it lists no schedulers, denies knowing the evict-leader scheduler,
// and a store added then replaces the ones it had.
type oldPD struct {
	g      *group
	loaded bool
	stored map[uint64]bool // what its storage has
}

func newOldPD(g *group, stores ...uint64) *oldPD {
	p := &oldPD{g: g, loaded: true, stored: map[uint64]bool{}}
	for _, id := range stores {
		p.stored[id] = true
	}
	g.handle("GET /pd/api/v1/schedulers", func(w http.ResponseWriter, _ *http.Request) {
		list := []string{}
		if p.loaded {
			list = append(list, "balance-leader-scheduler", "balance-region-scheduler")
			if len(p.stored) > 0 {
				list = append(list, evictLeader)
			}
		}
		json.NewEncoder(w).Encode(list)
	})
	g.handle("GET /pd/api/v1/config/schedule", func(w http.ResponseWriter, _ *http.Request) {
		list := []map[string]any{{"type": "balance-leader", "disable": false}, {"type": "balance-region"},
			{"type": "hot-region", "disable": true}}
		if len(p.stored) > 0 {
			list = append(list, map[string]any{"type": "evict-leader"})
		}
		json.NewEncoder(w).Encode(map[string]any{"schedulers-v2": list})
	})
	g.handle("GET /pd/api/v1/scheduler-config/evict-leader-scheduler/list", p.list)
	g.handle("POST /pd/api/v1/schedulers", p.create)
	for id := range uint64(5) {
		g.handle("DELETE /pd/api/v1/schedulers/evict-leader-scheduler-"+strconv.FormatUint(id, 10),
			func(w http.ResponseWriter, _ *http.Request) {
				if !p.loaded || !p.stored[id] {
					w.WriteHeader(404)
					io.WriteString(w, `"scheduler not found"`)
					return
				}
				delete(p.stored, id)
			})
	}
	return p
}

func (p *oldPD) list(w http.ResponseWriter, _ *http.Request) {
	if !p.loaded || len(p.stored) == 0 {
		w.WriteHeader(404)
		io.WriteString(w, `"scheduler not found"`)
		return
	}
	ranges := map[string]any{}
	for id := range p.stored {
		ranges[strconv.FormatUint(id, 10)] = []any{map[string]any{"start-key": "", "end-key": ""}}
	}
	json.NewEncoder(w).Encode(map[string]any{"store-id-ranges": ranges})
}

func (p *oldPD) create(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Name  string `json:"name"`
		Store uint64 `json:"store_id"`
	}
	json.NewDecoder(r.Body).Decode(&in)
	if in.Store > 100 {
		w.WriteHeader(400)
		io.WriteString(w, `"store 101 not found""The scheduler is created."`)
		return
	}
	if !p.loaded {
		clear(p.stored)
	}
	p.stored[in.Store] = true
}

func (p *oldPD) stores() []uint64 { return slices.Sorted(maps.Keys(p.stored)) }

func TestEviction(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		p := newOldPD(g)
		ctx := t.Context()
		if ids, err := c.EvictLeaderStores(ctx); err != nil || len(ids) != 0 {
			t.Errorf("EvictLeaderStores() = %v, %v", ids, err)
		}
		for _, id := range []uint64{2, 1, 2} {
			if err := c.AddEvictLeader(ctx, id); err != nil {
				t.Fatal(err)
			}
		}
		if ids, err := c.EvictLeaderStores(ctx); err != nil || !reflect.DeepEqual(ids, []uint64{1, 2}) {
			t.Errorf("EvictLeaderStores() = %v, %v", ids, err)
		}
		for _, id := range []uint64{2, 2, 1, 3} {
			if err := c.RemoveEvictLeader(ctx, id); err != nil {
				t.Fatal(err)
			}
		}
		if len(p.stored) != 0 {
			t.Errorf("left over: %v", p.stores())
		}
		if n, m := g.count("POST"), g.count("DELETE"); n != 2 || m != 2 {
			t.Errorf("%d POST and %d DELETE, want 2 and 2: what is so already is not written", n, m)
		}
		err := c.AddEvictLeader(ctx, 101)
		var status *StatusError
		if !errors.As(err, &status) || status.Message != "store 101 not found" || !errors.Is(err, ErrRefused) {
			t.Errorf("unknown store: %v", err)
		}
	})
}

func TestNothingIsDoneBeforeSchedulersAreLoaded(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		p := newOldPD(g, 1)
		p.loaded = false
		calls := map[string]func() error{
			"Schedulers":        func() error { _, err := c.Schedulers(t.Context()); return err },
			"EvictLeaderStores": func() error { _, err := c.EvictLeaderStores(t.Context()); return err },
			"AddEvictLeader":    func() error { return c.AddEvictLeader(t.Context(), 2) },
			"RemoveEvictLeader": func() error { return c.RemoveEvictLeader(t.Context(), 1) },
		}
		for name, call := range calls {
			start := time.Now()
			err := call()
			var loading *SchedulersNotLoadedError
			if !errors.Is(err, ErrSchedulersNotLoaded) || !errors.As(err, &loading) || time.Since(start) > 0 {
				t.Errorf("%s after %v: %v", name, time.Since(start), err)
				continue
			}
			if loading.Configured != 3 || !strings.Contains(err.Error(), "0 of 3") {
				t.Errorf("%s does not say what is awaited: %v", name, err)
			}
		}
		if n := g.count("POST") + g.count("DELETE"); n != 0 {
			t.Errorf("%d writes", n)
		}
		if !p.stored[1] {
			t.Error("the eviction of store 1 was lost")
		}
	})
}

// The leader changes between barrier and write: PD says 404, and has the scheduler back later.
func TestRemovalIsVerified(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		p := newOldPD(g, 1)
		g.handle("DELETE /pd/api/v1/schedulers/evict-leader-scheduler-1", func(w http.ResponseWriter, _ *http.Request) {
			p.loaded = false
			w.WriteHeader(404)
			io.WriteString(w, `"scheduler not found"`)
		})
		if err := c.RemoveEvictLeader(t.Context(), 1); !errors.Is(err, ErrSchedulersNotLoaded) {
			t.Errorf("error %v, want ErrSchedulersNotLoaded", err)
		}
		g.fail("DELETE /pd/api/v1/schedulers/evict-leader-scheduler-1", 404, `"scheduler not found"`)
		p.loaded = true
		if err := c.RemoveEvictLeader(t.Context(), 1); !errors.Is(err, ErrNotReady) {
			t.Errorf("error %v, want ErrNotReady: store 1 is still listed", err)
		}
	})
}
