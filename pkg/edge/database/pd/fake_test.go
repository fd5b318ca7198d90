package pd

import (
	"context"
	"errors"
	"reflect"
	"testing"
)

func TestFake(t *testing.T) {
	f := NewFake(3, 4)
	ctx := t.Context()
	boom := errors.New("boom")
	f.Hook = func(_ context.Context, call string) error {
		if call == "AddEvictLeader(3)" {
			return boom
		}
		return nil
	}
	if err := f.TransferLeader(ctx, "pd-2"); err != nil {
		t.Fatal(err)
	}
	if l, _ := f.Leader(ctx); l.Name != "pd-2" {
		t.Errorf("leader %s", l.Name)
	}
	if err := f.DeleteMember(ctx, 3); !errors.Is(err, ErrIsLeader) {
		t.Errorf("the leader was deleted: %v", err)
	}
	if err := f.AddEvictLeader(ctx, 3); !errors.Is(err, boom) {
		t.Errorf("the hook is not asked: %v", err)
	}
	if err := f.DeleteStore(ctx, 4); err != nil {
		t.Error(err)
	}
	if err := f.DeleteStore(ctx, 3); !errors.Is(err, ErrRefused) {
		t.Errorf("three replicas on two stores: %v", err)
	}
	if _, err := f.Store(ctx, 9); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown store: %v", err)
	}
	want := []string{"TransferLeader(pd-2)", "DeleteMember(3)", "AddEvictLeader(3)", "DeleteStore(4)", "DeleteStore(3)"}
	if got := f.Writes(); !reflect.DeepEqual(got, want) {
		t.Errorf("Writes() = %q", got)
	}
	f.Update(func(s *FakeState) { s.SchedulersNotLoaded = true })
	if err := f.RemoveEvictLeader(ctx, 1); !errors.Is(err, ErrSchedulersNotLoaded) {
		t.Error(err)
	}
	f.Update(func(s *FakeState) { s.Isolation = Isolation{Regions: 5, Apart: map[string]int{"zone": 5}} })
	for range 2 { // what a caller does with an answer changes no other
		got, err := f.Isolation(ctx)
		if err != nil || got.Regions != 5 || got.Apart["zone"] != 5 {
			t.Fatalf("%+v, %v", got, err)
		}
		got.Apart["zone"] = 0
	}
	f.Update(func(s *FakeState) { s.NotBootstrapped = true })
	if _, err := f.Isolation(ctx); !errors.Is(err, ErrNotBootstrapped) {
		t.Error(err)
	}
	if _, err := f.Stores(ctx); !errors.Is(err, ErrNotBootstrapped) {
		t.Error(err)
	}
	f.Update(func(s *FakeState) { s.Leader = "" })
	if _, err := f.Members(ctx); !errors.Is(err, ErrNoLeader) {
		t.Error(err)
	}
	f.Update(func(s *FakeState) { s.Unreachable = true })
	if _, err := f.Members(ctx); !errors.Is(err, ErrUnreachable) {
		t.Error(err)
	}
}
