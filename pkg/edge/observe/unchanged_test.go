package observe

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// counting counts how often it is read, and fails if it is told to.
type counting struct {
	intents, objects int
	parts            []string // those that were read again
	version          string   // of the TidbCluster
	moved            bool     // a part is not as before
	err              error
}

func (c *counting) Intent(context.Context) (*v1alpha1.TidbCluster, error) {
	c.intents++
	return &v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{ResourceVersion: c.version}}, c.err
}

func (c *counting) Part(_ context.Context, _ topology.Cluster, n int, into *Objects) error {
	c.parts = append(c.parts, parts[n].what)
	into.Discovery = into.Discovery != c.moved
	return c.err
}

func (c *counting) Objects(context.Context, topology.Cluster) (Objects, error) {
	c.objects++
	return Objects{Pods: slices.Repeat([]*corev1.Pod{{}}, c.objects)}, c.err
}

// TestUnchanged: objects are read again if something may have changed.
func TestUnchanged(t *testing.T) {
	from, now := &counting{}, noon
	o := &Observer{live: from, now: func() time.Time { return now }}
	u := o.ReadChanges()
	look := func(live bool, wants int) {
		t.Helper()
		source := o.source(live)
		tc, err := source.Intent(t.Context())
		if err != nil || tc == nil {
			t.Fatal(tc, err)
		}
		got, _ := source.Objects(t.Context(), basic)
		if from.intents != wants || from.objects != wants || len(got.Pods) != wants {
			t.Errorf("read %d and %d times, and returned what was read at time %d; want %d", from.intents, from.objects, len(got.Pods), wants)
		}
	}
	look(false, 1)
	look(false, 2) // nothing says that it is the same
	u.Wake(true)
	look(false, 2)
	look(false, 3) // a step was taken without a pause before
	u.Wake(true)
	look(true, 4)
	u.Wake(true)
	now = now.Add(checkEvery - time.Second)
	look(false, 4) // what was read live
	u.Wake(false)
	look(false, 5)
	from.err = errors.New("no answer")
	u.Wake(false)
	if _, err := u.Objects(t.Context(), basic); err != nil {
		t.Error("what was read before the failure is not there any more")
	}
}

// TestUnchangedFails: what could not be read is read again.
func TestUnchangedFails(t *testing.T) {
	from := &counting{err: errors.New("no answer")}
	u := (&Observer{live: from, now: func() time.Time { return noon }}).ReadChanges()
	for range 2 {
		u.Wake(true)
		if _, err := u.Intent(t.Context()); err == nil {
			t.Error("no error")
		}
		if _, err := u.Objects(t.Context(), basic); err == nil {
			t.Error("no error")
		}
	}
	from.err = nil
	for range 3 {
		u.Wake(true)
		_, err := u.Intent(t.Context())
		if _, second := u.Objects(t.Context(), basic); err != nil || second != nil {
			t.Error(err, second)
		}
	}
	if from.intents != 3 || from.objects != 3 {
		t.Errorf("read %d and %d times", from.intents, from.objects)
	}
}

// TestChecked: while nothing is reported, one part after the other is read again, and what was read by its
// name is dropped in its turn. A part that is not as before, or cannot be read, has everything read.
func TestChecked(t *testing.T) {
	begin := func() (*counting, *Unchanged, func() bool) {
		from, now := &counting{}, noon
		u := (&Observer{live: from, now: func() time.Time { return now }}).ReadChanges()
		look := func() bool {
			t.Helper()
			before := from.objects
			u.Wake(true)
			_, err := u.Intent(t.Context())
			if _, second := u.Objects(t.Context(), basic); err != nil || second != nil {
				t.Fatal(err, second)
			}
			everything, some := from.objects > before, from.intents+len(from.parts)
			if u.Wake(true); !u.confirmed(t.Context()) || from.intents+len(from.parts) != some {
				t.Error("a second part is read at once")
			}
			now = now.Add(checkEvery)
			return everything
		}
		look()
		return from, u, look
	}
	from, u, look := begin()
	secret := func() { named(u, "secret/a", func() (int, bool) { return 1, true }) }
	secret()
	var read []string
	for range 2 * (len(parts) + 2) {
		intents, before := from.intents, len(from.parts)
		if look() {
			t.Fatalf("after %q everything was read", read)
		}
		switch {
		case from.intents > intents:
			read = append(read, "intent")
		case len(from.parts) > before:
			read = append(read, from.parts[before:]...)
		case len(u.named) == 0:
			read = append(read, "secret")
			secret()
		}
	}
	once := []string{"intent", "services", "configmaps", "statefulsets", "pods", "pods of PD", "persistentvolumeclaims", "ledger", "discovery deployment", "secret"}
	if !slices.Equal(read, slices.Concat(once, once)) {
		t.Errorf("read %q", read)
	}
	for name, change := range map[string]func(*counting){
		"the TidbCluster":   func(c *counting) { c.version = "2" },
		"a part":            func(c *counting) { look(); c.moved = true },
		"no answer":         func(c *counting) { c.err = errors.New("no answer") },
		"a part, no answer": func(c *counting) { look(); c.err = errors.New("no answer") },
	} {
		from, u, look = begin()
		secret()
		change(from)
		u.Wake(true)
		if _, err := u.Intent(t.Context()); (err == nil) != (from.err == nil) || u.objects != nil || len(u.named) > 0 {
			t.Errorf("%s: not everything is read again; %v", name, err)
		}
	}
}

// TestNamed: what was read by its name is read once, unless it is not final, and each time without an
// Unchanged.
func TestNamed(t *testing.T) {
	for name, tt := range map[string]struct {
		u     *Unchanged
		final bool
		want  int
	}{"kept": {&Unchanged{}, true, 1}, "not final": {&Unchanged{}, false, 3}, "read each time": {nil, true, 3}} {
		reads := 0
		for range 3 {
			if got := named(tt.u, "x", func() (int, bool) { reads++; return 7, tt.final }); got != 7 {
				t.Errorf("%s: %d", name, got)
			}
		}
		if reads != tt.want {
			t.Errorf("%s: read %d times", name, reads)
		}
	}
}

// TestVersions: an object counts for its own kind, with its identity and its version.
func TestVersions(t *testing.T) {
	meta := func(uid, version string) metav1.ObjectMeta {
		return metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: version}
	}
	all := []Objects{
		{}, {Discovery: true}, {Ledger: &corev1.ConfigMap{ObjectMeta: meta("a", "1")}},
		{Services: []*corev1.Service{{ObjectMeta: meta("a", "1")}}}, {ConfigMaps: []*corev1.ConfigMap{{ObjectMeta: meta("a", "1")}}},
		{Sets: []*appsv1.StatefulSet{{ObjectMeta: meta("a", "1")}}}, {Pods: []*corev1.Pod{{ObjectMeta: meta("a", "1")}}},
		{Pods: []*corev1.Pod{{ObjectMeta: meta("a", "2")}}}, {Pods: []*corev1.Pod{{ObjectMeta: meta("b", "1")}}},
		{Claims: []*corev1.PersistentVolumeClaim{{ObjectMeta: meta("a", "1")}}},
	}
	a, b := &corev1.Pod{ObjectMeta: meta("a", "1")}, &corev1.Pod{ObjectMeta: meta("b", "1")}
	if !slices.Equal(Objects{Pods: []*corev1.Pod{a, b}}.versions(), Objects{Pods: []*corev1.Pod{b, a}}.versions()) {
		t.Error("another order is a change")
	}
	for i, a := range all {
		for j, b := range all {
			if slices.Equal(a.versions(), b.versions()) != (i == j) {
				t.Errorf("%d and %d: %q, %q", i, j, a.versions(), b.versions())
			}
		}
	}
}

// TestSource: without anybody who says what has changed, only a mirror saves reads.
func TestSource(t *testing.T) {
	from, copied := &counting{}, &counting{}
	o := &Observer{live: from}
	if o.source(false) != Source(from) || o.source(true) != Source(from) {
		t.Error("without a mirror, not read from the API server")
	}
	o.Mirror(copied)
	if o.source(false) != Source(copied) || o.source(true) != Source(from) {
		t.Error("a mirror is for reads that need not be live")
	}
}
