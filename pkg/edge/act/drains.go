package act

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ticdc"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/ledger"
)

// drainCapture writes the record before it asks TiCDC. The record has the time of the start, so that the wait for a
// drain ends also where TiCDC never answers. The answer is written afterwards: nothing else says how many tables are
// left.
func (a *Actor) drainCapture(ctx context.Context, s step.DrainCapture) error {
	_, ordinal, known := a.cluster.Member(s.Member)
	if !known {
		return fmt.Errorf("drain %s: it is no member of the cluster", s.Member)
	}
	if _, err := a.samePod(ctx, s.Member, s.PodUID); err != nil {
		return err
	}
	d, err := a.askedDrain(ctx, s)
	if err != nil || s.Capture == "" {
		return err
	}
	client := a.ticdc(a.cluster, ordinal)
	if err := owner(ctx, client, s, &d); err != nil {
		return err
	}
	tables := state.TablesUnknown
	if s.Owner {
		err = client.Resign(ctx)
	} else {
		tables, err = client.Drain(ctx, s.Capture)
	}
	switch {
	case err == nil:
		d.Answer(tables, d.Asked)
	case errors.Is(err, ticdc.ErrUnsupported):
		d.Refused, d.Tables = true, 0
	case errors.Is(err, ticdc.ErrBusy):
		d.Answer(state.TablesUnknown, d.Asked) // it is asked again
	default:
		return fmt.Errorf("drain the capture of %s: %w", s.Member, err)
	}
	return a.rememberDrain(ctx, d)
}

// askedDrain records that a drain is asked for now, and returns the record. The record keeps the start of the same
// drain, but not the start of a drain that another run has left behind.
func (a *Actor) askedDrain(ctx context.Context, s step.DrainCapture) (state.Drain, error) {
	now := a.now()
	d := state.Drain{Member: s.Member, PodUID: s.PodUID, Capture: s.Capture, Since: now, Asked: now, Tables: state.TablesUnknown}
	book, err := a.book(ctx)
	if err != nil {
		return d, err
	}
	for _, old := range ledger.Read(book).Drains {
		if s.Again && old.Member == s.Member && old.PodUID == s.PodUID {
			d.Since = old.Since
			if old.Capture == s.Capture {
				d.Of, d.Most, d.Empty = old.Of, old.Most, old.Empty
			}
		}
	}
	return d, a.rememberDrain(ctx, d)
}

// owner notes in a record which capture is the owner, and checks that the owner has not changed. TiCDC does not
// drain its owner, and another capture must not be made to resign.
func owner(ctx context.Context, client *ticdc.Client, s step.DrainCapture, d *state.Drain) error {
	captures, err := client.Captures(ctx)
	if errors.Is(err, ticdc.ErrBusy) {
		return stale("TiCDC", "has no owner at the moment")
	}
	if err != nil {
		return fmt.Errorf("list the captures of TiCDC: %w", err)
	}
	there, of := false, ""
	for _, c := range captures {
		there = there || c.ID == s.Capture
		if c.Owner {
			of = c.ID
		}
	}
	if d.Of != of {
		d.Of, d.Most, d.Empty = of, 0, time.Time{} // it knows nothing of what the former owner has answered
	}
	switch {
	case !there:
		return stale("capture "+s.Capture, "is not in TiCDC any more")
	case s.Owner != (d.Of == s.Capture):
		return stale("TiCDC", "has another owner now")
	}
	return nil
}

func (a *Actor) rememberDrain(ctx context.Context, d state.Drain) error {
	value, err := ledger.EncodeDrain(d)
	if err != nil {
		return err
	}
	book, err := a.book(ctx)
	if err != nil {
		return err
	}
	return a.writeRecord(ctx, book, ledger.DrainKey(d.Member), value)
}

// adoptDrain writes the record before it takes tidb-operator's mark off the pod. If another process has written a
// record of a drain of this pod meanwhile, that record stays.
func (a *Actor) adoptDrain(ctx context.Context, s step.AdoptDrain) error {
	pod, err := a.samePod(ctx, s.Member, s.PodUID)
	if err != nil || pod.Annotations[topology.AnnotationDrainBegun] == "" {
		return err
	}
	book, err := a.book(ctx)
	if err != nil {
		return err
	}
	if d, recorded := (state.Snapshot{Drains: ledger.Read(book).Drains}).Drain(s.Member); !s.Since.IsZero() && (!recorded || d.PodUID != s.PodUID) {
		d = state.Drain{Member: s.Member, PodUID: s.PodUID, Since: s.Since, Asked: a.now(), Tables: state.TablesUnknown}
		if err := a.rememberDrain(ctx, d); err != nil {
			return err
		}
	}
	return a.unmark(ctx, s.Member, s.PodUID, topology.AnnotationDrainBegun)
}

// unmark takes an annotation off a member's pod.
func (a *Actor) unmark(ctx context.Context, member, uid, annotation string) error {
	return patched("pod "+member, func(body []byte) error {
		_, err := a.kube.CoreV1().Pods(a.cluster.Namespace).Patch(ctx, member, types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
		return err
	}, map[string]any{"uid": uid, "annotations": map[string]any{annotation: nil}}, nil)
}

// forgetDrain deletes a record if its pod is gone, or the drain is not to continue.
func (a *Actor) forgetDrain(ctx context.Context, s step.ForgetDrain) error {
	book, err := a.book(ctx)
	if err != nil || book == nil {
		return err
	}
	if _, known := book.Data[ledger.DrainKey(s.Member)]; !known {
		return nil
	}
	return a.patchLedger(ctx, map[string]any{"data": map[string]any{ledger.DrainKey(s.Member): nil}})
}
