package act

import (
	"context"
	"crypto/tls"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tidb"
)

// account is root of a TiDB in memory.
type account struct {
	password string
	changes  int
	away     error // what a login returns
	lost     error // what setting the password returns after it is set
	taken    bool  // somebody sets a password between the login and ours
	addr     string
}

func (r *account) Login(context.Context) error {
	switch {
	case r.away != nil:
		return r.away
	case r.password != "":
		return tidb.ErrPasswordSet
	}
	return nil
}

func (r *account) SetPassword(ctx context.Context, password string) error {
	if r.taken {
		r.password = "theirs"
	}
	if err := r.Login(ctx); err != nil {
		return err
	}
	r.password = password
	r.changes++
	return r.lost
}

var firstPassword = step.SetPassword{Component: topology.TiDB, Member: "basic-tidb-1", PodUID: "uid-of-basic-tidb-1", Secret: "basic-init"}

// newAccount returns a cluster that asks for a first password.
func newAccount(t *testing.T, objects ...runtime.Object) (*fixture, *account) {
	t.Helper()
	w := newFixture(t, append(objects, pod(topology.TiDB, 1))...)
	w.intent.tc = v1alpha1.TidbCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic", UID: "tc-uid"},
		Spec:       v1alpha1.TidbClusterSpec{TiDB: &v1alpha1.TiDBSpec{Replicas: 2, Initializer: &v1alpha1.TiDBInitializer{CreatePassword: true}}},
	}
	r := &account{}
	w.OnTiDB(func(addr string, _ *tls.Config) Root { r.addr = addr; return r })
	return w, r
}

func (w *fixture) recordedPassword() bool {
	set := w.intent.tc.Status.TiDB.PasswordInitialized
	return set != nil && *set
}

// initSecret returns the password in the Secret, "" where there is none.
func (w *fixture) initSecret(t *testing.T) string {
	t.Helper()
	got, err := w.kube.CoreV1().Secrets("db").Get(t.Context(), "basic-init", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(got.Data["root"])
}

func initWith(key, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: owned("basic-init", topology.TiDB), Data: map[string][]byte{key: []byte(value)}}
}

func TestSetPassword(t *testing.T) {
	w, r := newAccount(t)
	w.do(t, firstPassword)
	if !w.recordedPassword() || r.changes != 1 || r.password != w.initSecret(t) {
		t.Errorf("recorded %t, set %d times, the Secret has it: %t", w.recordedPassword(), r.changes, r.password == w.initSecret(t))
	}
	if r.addr != "basic-tidb-1.basic-tidb-peer.db.svc:4000" {
		t.Errorf("connected to %s", r.addr)
	}
	got, err := w.kube.CoreV1().Secrets("db").Get(t.Context(), "basic-init", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// After the TidbCluster is deleted, its data stays, and nobody else knows the password.
	if err := w.ours("secret", got); err != nil || len(got.OwnerReferences) > 0 || got.Labels[topology.LabelInstance] != "basic" {
		t.Errorf("the Secret is of %v with labels %v", got.OwnerReferences, got.Labels)
	}
	const small, large, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	for _, of := range []string{small, large, digits, "-"} {
		if !strings.ContainsAny(r.password, of) {
			t.Errorf("validate_password may ask for one of %s", of)
		}
	}
	if strings.Trim(r.password, small+large+digits+"-") != "" || len(r.password) < 20 {
		t.Errorf("%d characters, or one that needs quotes", len(r.password))
	}
	w.do(t, firstPassword)
	if r.changes != 1 {
		t.Error("it is set again")
	}
	other, s := newAccount(t)
	if other.do(t, firstPassword); s.password == r.password {
		t.Error("the next cluster gets the same password")
	}
}

// TestSetPasswordAgain: whatever a run has left undone, the next one ends with the password of the
// Secret, or leaves the one that somebody else has set.
func TestSetPasswordAgain(t *testing.T) {
	failed := errors.New("the answer was lost")
	for name, tt := range map[string]struct {
		fails func(w *fixture, r *account) (mend func())
	}{
		"the Secret is not written": {func(w *fixture, _ *account) func() { return w.failOnce("create", false, failed) }},
		"the Secret is written":     {func(w *fixture, _ *account) func() { return w.failOnce("create", true, failed) }},
		"the password is not set":   {func(_ *fixture, r *account) func() { r.away = failed; return func() { r.away = nil } }},
		"the password is set":       {func(_ *fixture, r *account) func() { r.lost = failed; return func() { r.lost = nil } }},
		"the status is not written": {func(w *fixture, _ *account) func() { w.intent.fails = failed; return func() { w.intent.fails = nil } }},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newAccount(t)
			mend := tt.fails(w, r)
			err := w.Do(t.Context(), firstPassword)
			if !errors.Is(err, failed) || w.recordedPassword() {
				t.Fatalf("got %v, recorded %t", err, w.recordedPassword())
			}
			if r.password != "" && r.password != w.initSecret(t) {
				t.Fatal("nobody knows the password")
			}
			if r.password != "" && strings.Contains(err.Error(), r.password) {
				t.Error("the error has the password")
			}
			mend()
			first := w.initSecret(t)
			w.do(t, firstPassword)
			if !w.recordedPassword() || r.changes != 1 || r.password != w.initSecret(t) || first != "" && first != r.password {
				t.Errorf("recorded %t, set %d times", w.recordedPassword(), r.changes)
			}
		})
	}
}

// failOnce has requests about Secrets fail until the function that it returns is called, after they
// are done or before.
func (w *fixture) failOnce(verb string, done bool, err error) (mend func()) {
	failing := true
	w.kube.PrependReactor(verb, "secrets", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if !failing {
			return false, nil, nil
		}
		if done {
			if err := w.kube.Tracker().Add(a.(clienttesting.CreateAction).GetObject()); err != nil {
				return true, nil, err
			}
		}
		return true, nil, err
	})
	return func() { failing = false }
}

// TestPasswordOfOthers: one that somebody has set stays, and there is no Secret that says otherwise.
func TestPasswordOfOthers(t *testing.T) {
	w, r := newAccount(t)
	r.password = "theirs"
	w.do(t, firstPassword)
	if !w.recordedPassword() || r.changes != 0 || w.initSecret(t) != "" {
		t.Errorf("recorded %t, set %d times, Secret %q", w.recordedPassword(), r.changes, w.initSecret(t))
	}
	w, r = newAccount(t)
	r.taken = true
	var s *Stale
	if err := w.Do(t.Context(), firstPassword); !errors.As(err, &s) || r.changes != 0 || w.recordedPassword() {
		t.Errorf("got %v, set %d times", err, r.changes)
	}
	w, r = newAccount(t, initWith("root", "chosen"))
	if w.do(t, firstPassword); r.password != "chosen" || !w.recordedPassword() {
		t.Errorf("the password is %q, not that of the Secret", r.password)
	}
}

// TestSetPasswordRefused: the cluster is not as it was, or only a person can go on.
func TestSetPasswordRefused(t *testing.T) {
	former := initWith("root", "former")
	former.OwnerReferences[0].UID = "another"
	going := initWith("root", "going")
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{Time: now}, []string{"x"}
	forbidden := apierrors.NewForbidden(corev1.Resource("secrets"), "basic-init", nil)
	for name, tt := range map[string]struct {
		secret *corev1.Secret
		change func(*fixture, *account)
		says   string
		final  bool
	}{
		"another pod":         {change: func(w *fixture, _ *account) { w.mustDelete(t, "basic-tidb-1") }, says: "was recreated"},
		"paused":              {change: func(w *fixture, _ *account) { w.intent.tc.Spec.Paused = true }, says: "paused"},
		"another TidbCluster": {change: func(w *fixture, _ *account) { w.intent.tc.UID = types.UID("another") }, says: "created again"},
		"no answer":           {change: func(_ *fixture, r *account) { r.away = errors.New("i/o timeout") }, says: "without a password: i/o timeout"},
		"of a former cluster": {secret: former, says: "former TidbCluster"},
		"being deleted":       {secret: going, says: "being deleted"},
		"no such key":         {secret: initWith("password", "x"), says: "no password under the key root", final: true},
		"an empty password":   {secret: initWith("root", ""), says: "no password under the key root", final: true},
		"no right to make it": {change: func(w *fixture, _ *account) { w.failOnce("create", false, forbidden) }, says: "forbidden", final: true},
		"no right to read it": {change: func(w *fixture, _ *account) { w.failOnce("get", false, forbidden) }, says: "forbidden", final: true},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []runtime.Object
			if tt.secret != nil {
				objects = append(objects, tt.secret)
			}
			w, r := newAccount(t, objects...)
			if tt.change != nil {
				tt.change(w, r)
			}
			err := w.Do(t.Context(), firstPassword)
			if err == nil || !strings.Contains(err.Error(), tt.says) || isFinal(err) != tt.final {
				t.Errorf("got %v, final %t", err, isFinal(err))
			}
			if r.changes > 0 || w.recordedPassword() {
				t.Errorf("set %d times, recorded %t", r.changes, w.recordedPassword())
			}
		})
	}
	t.Run("no member", func(t *testing.T) {
		w, _ := newAccount(t)
		if err := w.Do(t.Context(), step.SetPassword{Member: "web-1"}); err == nil || !strings.Contains(err.Error(), "no member") {
			t.Errorf("got %v", err)
		}
	})
}

func (w *fixture) mustDelete(t *testing.T, pod string) {
	t.Helper()
	if err := w.kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "db", pod); err != nil {
		t.Fatal(err)
	}
}

// TestNotAskedForAnyMore: nothing is done, and nobody is asked.
func TestNotAskedForAnyMore(t *testing.T) {
	w, r := newAccount(t)
	w.intent.tc.Spec.TiDB.Initializer.CreatePassword = false
	r.away = errors.New("asked")
	w.do(t, firstPassword)
	if w.unchanged(t); slices.Contains(w.writes(), "create secrets") || w.intent.patches > 0 {
		t.Error("something is written")
	}
}
