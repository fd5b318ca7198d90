package pd

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
)

// TestScheduleSettings: schedulers and numbers are read, added and set. A scheduler that runs is not added again, because PD
// refuses that.
func TestScheduleSettings(t *testing.T) {
	g := newGroup(t, 1)
	running := []string{"balance-region-scheduler"}
	numbers := map[string]any{"region-schedule-limit": 40, "max-snapshot-count": 64, "schedulers-v2": []any{map[string]any{"type": "balance-region"}}}
	posts := 0
	g.handle("GET /pd/api/v1/schedulers", func(w http.ResponseWriter, _ *http.Request) { json.NewEncoder(w).Encode(running) })
	g.handle("GET /pd/api/v1/config/schedule", func(w http.ResponseWriter, _ *http.Request) { json.NewEncoder(w).Encode(numbers) })
	g.handle("POST /pd/api/v1/schedulers", func(_ http.ResponseWriter, r *http.Request) {
		var body struct{ Name string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		posts++
		running = append(running, body.Name)
	})
	g.handle("POST /pd/api/v1/config/schedule", func(_ http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&numbers); err != nil {
			t.Error(err)
		}
	})
	c := g.client(nil)
	for range 2 {
		if err := c.AddScheduler(t.Context(), "balance-leader-scheduler"); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.SetScheduleNumbers(t.Context(), map[string]float64{"region-schedule-limit": 2048}); err != nil {
		t.Fatal(err)
	}
	if err := c.SetScheduleNumbers(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	s, err := c.ScheduleSettings(t.Context(), "region-schedule-limit", "max-snapshot-count", "unknown")
	if err != nil || posts != 1 || !slices.Equal(s.Schedulers, running) || len(s.Numbers) != 2 || s.Numbers["region-schedule-limit"] != 2048 || s.Numbers["max-snapshot-count"] != 64 {
		t.Errorf("%+v, %d posts, %v", s, posts, err)
	}
}
