package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// TestByHand: what a person did in PD stays, and is reported.
func TestByHand(t *testing.T) {
	t.Parallel()
	s := newEnvironment(t, "e2e-by-hand")
	s.tidb(t, 0, "create", cluster, "--version", from, "--storage", "1Gi", "--tikv", "4", "--tidb", "1")
	p := s.person(t)
	t.Run("answers of the list", p.answers)
	t.Run("scheduler added", p.schedulerAdded)
	t.Run("store deleted", p.storeDeleted)
}

// schedulerAdded: a person keeps leaders away from a store. A run that restarts the
// store says so, and so does the status; the scheduler is there afterwards.
func (p *person) schedulerAdded(t *testing.T) {
	pod := cluster + "-tikv-1"
	store := p.store(t, pod)
	p.do(t, http.MethodPost, "schedulers", map[string]any{"name": "evict-leader-scheduler", "store_id": store.ID})
	for _, change := range []string{"", `{"spec":{"tikv":{"annotations":{"e2e":"scheduler"}}}}`} {
		if change != "" {
			p.patchCluster(t, change)
		}
		events := p.driven(t, 0, "sync", cluster)
		if !reported(events, pod, "evict-leader") {
			t.Errorf("no event of sync reports the evict-leader scheduler on %s:\n%s", pod, texts(events))
		}
		if out := p.tidb(t, 0, "status", cluster).Stdout; !strings.Contains(out, "evict-leader") {
			t.Errorf("status does not show the evict-leader scheduler:\n%s", out)
		}
		if stores := p.evicting(t); !slices.Equal(stores, []uint64{store.ID}) {
			t.Errorf("PD evicts leaders from stores %v, want %d, as the person has asked", stores, store.ID)
		}
	}
	p.do(t, http.MethodDelete, fmt.Sprint("schedulers/evict-leader-scheduler-", store.ID), nil)
	p.tidb(t, 0, "sync", cluster)
	p.wantConverged(t, 3, 4, 1, from)
}

// storeDeleted: a person has deleted a store in PD. The plugin does not cancel that, and reports it.
func (p *person) storeDeleted(t *testing.T) {
	pod := cluster + "-tikv-2"
	store := p.store(t, pod)
	// So it has regions, and is Offline, for as long as this takes.
	p.do(t, http.MethodPost, "config", map[string]any{"replica-schedule-limit": 0})
	p.do(t, http.MethodDelete, fmt.Sprint("store/", store.ID), nil)
	events := p.driven(t, anyCode, "sync", cluster, "--timeout", "20s")
	for _, e := range events {
		if e.Action == "RestoreStore" {
			t.Errorf("what a person did is taken back: %s", e.Step)
		}
	}
	if !reported(events, pod, "offline") {
		t.Errorf("no event of sync reports that %s is Offline:\n%s", pod, texts(events))
	}
	if out := p.tidb(t, 0, "status", cluster).Stdout; !strings.Contains(strings.ToLower(out), "offline") {
		t.Errorf("status does not show that the store is Offline:\n%s", out)
	}
	if after := p.store(t, pod); after.ID != store.ID || after.State != pd.StoreOffline {
		t.Errorf("store %d of %s is %s, want store %d Offline, as the person has asked", after.ID, pod, after.StateName, store.ID)
	}
	p.do(t, http.MethodPost, fmt.Sprintf("store/%d/state?state=Up", store.ID), nil)
	p.do(t, http.MethodPost, "config", map[string]any{"replica-schedule-limit": 64})
	p.tidb(t, 0, "sync", cluster)
	p.wantConverged(t, 3, 4, 1, from)
}

// anyCode takes any exit code.
const anyCode = -2

// driven runs a driving verb to its end and returns its events.
func (s environment) driven(t *testing.T, code int, args ...string) []event.Event {
	t.Helper()
	events, r, err := s.plugin.Events(t.Context(), args...)
	t.Logf("kubectl tidb %v: exit %d after %v", args, r.Code, r.Took)
	if err != nil {
		t.Fatal(err)
	}
	if code == anyCode {
		return events
	}
	s.failed.note(args, code, r, texts(events))
	if r.Code != code {
		t.Fatalf("kubectl tidb %v: exit code %d, want %d\n%s\n%s", args, r.Code, code, texts(events), r.Stderr)
	}
	return events
}

// reported reports whether an event about a member contains a word.
func reported(events []event.Event, member, word string) bool {
	return slices.ContainsFunc(events, func(e event.Event) bool {
		said := text(e)
		return e.Type != event.Started && e.Type != event.Finished &&
			strings.Contains(said, member) && strings.Contains(strings.ToLower(said), word)
	})
}

func text(e event.Event) string {
	return strings.Join([]string{string(e.Type), e.Member, e.Step, e.Message, e.Observed, e.Help(), e.Error}, " | ")
}

func texts(events []event.Event) string {
	var all []string
	for _, e := range events {
		all = append(all, text(e))
	}
	return strings.Join(all, "\n")
}
