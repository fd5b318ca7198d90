package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/scheduling"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/ledger"
)

// evictLeaders writes the record before it asks PD. So no scheduler of ours is ever without a record, even if this
// process is killed in between.
func (a *Actor) evictLeaders(ctx context.Context, s step.EvictLeaders) error {
	if s.PodUID != "" {
		if _, err := a.samePod(ctx, s.Member, s.PodUID); err != nil {
			return err
		}
	}
	client, store, err := a.store(ctx, s.Member, s.StoreID)
	if err != nil {
		return err
	}
	if store.State != pd.StoreUp {
		return stale(storeName(s.StoreID), "is %s now", store.State)
	}
	// This comes before anything is written. As long as PD has not loaded its schedulers nothing can be done, and
	// the time of the eviction must not start.
	evicting, err := isEvicting(ctx, client, s.StoreID)
	if err != nil {
		return err
	}
	book, err := a.ledger(ctx)
	if err != nil {
		return err
	}
	old, known := ledger.Decode(book, state.RecordEviction, s.StoreID)
	record := a.record(s, old, known, evicting)
	if record.Cluster = old.Cluster; !known || record != old {
		if err := a.remember(ctx, book, state.RecordEviction, s.StoreID, record); err != nil {
			return err
		}
	}
	if evicting {
		return a.moveLeadersAgain(ctx, client, s.StoreID)
	}
	if err := client.AddEvictLeader(ctx, s.StoreID); err != nil {
		return a.notAdded(ctx, client, s.StoreID, err)
	}
	if evicting, err = isEvicting(ctx, client, s.StoreID); err != nil {
		return err
	}
	if !evicting {
		return fmt.Errorf("add evict-leader scheduler of store %d: PD does not list it", s.StoreID)
	}
	return a.moveLeadersAgain(ctx, client, s.StoreID)
}

// notAdded returns the error of a scheduler that PD has refused to make. Where PD's leader believes that there is one
// already, no further attempt helps, but another leader does.
func (a *Actor) notAdded(ctx context.Context, client pd.Client, storeID uint64, err error) error {
	err = fmt.Errorf("add evict-leader scheduler of store %d: %w", storeID, err)
	if !errors.Is(err, pd.ErrPaused) {
		return err
	}
	return remedy.For(&pausedError{err}, Forget(ctx, a.cluster, client)...)
}

// Forget returns how a person has PD forget what only the memory of its leader has.
func Forget(ctx context.Context, c topology.Cluster, client pd.Client) remedy.Remedy {
	part := c.PDPart()
	leader, others := part.PodName(topology.PD, 0), []string(nil)
	if got, err := client.Members(ctx); err == nil {
		for _, m := range got.Members {
			pod, _, _ := strings.Cut(m.Name, ".")
			if _, ours := part.Ordinal(topology.PD, pod); !ours || part.MayHavePartsAcross() && !part.HasPDName(m.Name) {
				continue
			}
			if got.Leader != nil && m.ID == got.Leader.ID {
				leader = pod
				continue
			}
			others = append(others, pod)
		}
	}
	return scheduling.Forget(part, leader, others)
}

// pausedError is the refusal of a PD that believes that a store has a scheduler.
type pausedError struct{ err error }

func (e *pausedError) Error() string { return e.err.Error() }
func (e *pausedError) Unwrap() error { return e.err }

// Final implements reconcile.Final: it is so until PD's leader changes.
func (e *pausedError) Final() bool { return true }

// moveLeadersAgain corrects an evict-leader scheduler that moves 0 leaders at a time. PD makes that of a scheduler
// from before an upgrade to v8.5.0, v8.5.1 or v8.5.2. It does so only if all stores of the scheduler are there
// because of us, since a scheduler of others is theirs.
func (a *Actor) moveLeadersAgain(ctx context.Context, client pd.Client, storeID uint64) error {
	got, err := client.Scheduling(ctx)
	if err != nil {
		return fmt.Errorf("read evict-leader scheduler: %w", err)
	}
	if got.Batch != 0 {
		return nil
	}
	book, err := a.ledger(ctx)
	if err != nil {
		return err
	}
	for _, id := range got.Evicting {
		if r, known := ledger.Decode(book, state.RecordEviction, id); !known || r.Foreign || !r.Ended.IsZero() {
			return nil
		}
	}
	if err := client.SetEvictBatch(ctx, storeID); err != nil {
		return fmt.Errorf("have the evict-leader scheduler move leaders again: %w", err)
	}
	return nil
}

// record returns the record to write, given the old record. The new record keeps the start of the same eviction. PD
// may lose the scheduler more than once, and with a new start each time the timeout would never pass. The new record
// does not keep the start of an eviction that another run left behind and that has ended since. With that start the
// timeout would pass before this eviction begins. The new record also keeps the number of leaders before the eviction,
// because an interrupted eviction has already reduced the number.
func (a *Actor) record(s step.EvictLeaders, old ledger.Record, known, evicting bool) ledger.Record {
	r := ledger.Record{Member: s.Member, Since: a.now(), Owner: a.owner, Leaders: max(s.Leaders, 0)}
	same := known && old.Member == s.Member && old.Ended.IsZero()
	if evicting && (old.Foreign || !known || !old.Ended.IsZero()) {
		r.Foreign = true
	}
	if same {
		r.Leaders = max(r.Leaders, old.Leaders)
	}
	if same && !old.Since.IsZero() && (evicting || old.Owner == a.owner) {
		r.Since = old.Since
	}
	return r
}

// adoptEviction writes the record of an eviction that tidb-operator began. Then it removes tidb-operator's mark from
// the pod, so that the record or the mark exists at any moment. A record that cannot be read is not replaced: it is
// unknown who made the scheduler.
func (a *Actor) adoptEviction(ctx context.Context, s step.AdoptEviction) error {
	pod, err := a.samePod(ctx, s.Member, s.PodUID)
	if err != nil {
		return err
	}
	if pod.Annotations[topology.AnnotationEvictionBegun] == "" {
		return nil
	}
	client, _, err := a.store(ctx, s.Member, s.StoreID)
	if err != nil {
		return err
	}
	evicting, err := isEvicting(ctx, client, s.StoreID)
	if err != nil {
		return err
	}
	book, err := a.ledger(ctx)
	if err != nil {
		return err
	}
	if evicting && !ledger.Has(book, state.RecordEviction, s.StoreID) {
		if s.Ended {
			return stale("PD", "has an evict-leader scheduler for store %d now", s.StoreID)
		}
		r := ledger.Record{Member: s.Member, Since: s.Since, Owner: a.owner, Leaders: max(s.Leaders, 0)}
		if err := a.remember(ctx, book, state.RecordEviction, s.StoreID, r); err != nil {
			return err
		}
	}
	return a.unmark(ctx, s.Member, s.PodUID, topology.AnnotationEvictionBegun)
}

// allowLeaders removes a scheduler only if the ledger says that it is ours. The
// record is deleted last: in the other order, a crash in between would leave a
// store that never gets a leader again.
func (a *Actor) allowLeaders(ctx context.Context, s step.AllowLeaders) error {
	book, err := a.ledger(ctx)
	if err != nil {
		return err
	}
	record, known := ledger.Decode(book, state.RecordEviction, s.StoreID)
	if !known {
		return nil
	}
	ended := !record.Ended.IsZero()
	if !record.Foreign && !ended {
		if err := a.endEviction(ctx, s.StoreID); err != nil {
			return err
		}
	}
	if s.Returning {
		if !ended {
			record.Ended = a.now()
		}
		return a.remember(ctx, book, state.RecordEviction, s.StoreID, record)
	}
	return a.forget(ctx, book, state.RecordEviction, s.StoreID)
}

func (a *Actor) endEviction(ctx context.Context, storeID uint64) error {
	client, err := a.database()
	if err != nil {
		return err
	}
	if err := client.RemoveEvictLeader(ctx, storeID); err != nil {
		return fmt.Errorf("remove evict-leader scheduler of store %d: %w", storeID, err)
	}
	evicting, err := isEvicting(ctx, client, storeID)
	if err != nil {
		return err
	}
	if evicting {
		return fmt.Errorf("remove evict-leader scheduler of store %d: PD still lists it", storeID)
	}
	return nil
}

// stillEvicting fails if the eviction that a restart relies on has ended. Another process may have ended the
// eviction after the decision, because it has not noticed yet that it does not drive any more. Then the store has
// its leaders again. The other stores must serve as they did.
func (a *Actor) stillEvicting(ctx context.Context, s step.Restart) error {
	storeID := s.StoreID
	if storeID == 0 {
		return nil
	}
	book, err := a.ledger(ctx)
	if err != nil {
		return err
	}
	if record, known := ledger.Decode(book, state.RecordEviction, storeID); !known || !record.Ended.IsZero() {
		return stale("the eviction of "+storeName(storeID), "has ended")
	}
	client, err := a.database()
	if err != nil {
		return err
	}
	evicting, err := isEvicting(ctx, client, storeID)
	if err != nil {
		return err
	}
	if !evicting {
		return stale("PD", "has no evict-leader scheduler for %s any more", storeName(storeID))
	}
	return peersUp(ctx, client, storeID, s.NotUp)
}

func isEvicting(ctx context.Context, client pd.Client, storeID uint64) (bool, error) {
	stores, err := client.EvictLeaderStores(ctx)
	if err != nil {
		return false, fmt.Errorf("read evict-leader schedulers: %w", err)
	}
	return slices.Contains(stores, storeID), nil
}
