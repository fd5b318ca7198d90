package drive

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
)

// record is the Lease of cluster t as the holder has written it at a time.
func record(holder string, at time.Time) *coordinationv1.Lease {
	renewed := metav1.NewMicroTime(at)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: itself.LeaseName()},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, AcquireTime: &renewed, RenewTime: &renewed},
	}
}

// TestLeave: a run that does not wait ends well only if another process is seen to drive the
// cluster, and names it.
func TestLeave(t *testing.T) {
	const daemon = "system:daemon@kubectl-tidb-7c4f/1/88/3f"
	name := lease.Holder{Identity: daemon}.Describe()
	for title, tt := range map[string]struct {
		before func() runtime.Object
		after  func(context.Context, *target.Session) error // two seconds later
		code   exit.Code
		says   string
	}{
		"a daemon that was idle": {
			after: func(ctx context.Context, s *target.Session) error {
				_, err := s.Kube.CoordinationV1().Leases("ns").Create(ctx, record(daemon, time.Now()), metav1.CreateOptions{})
				return err
			},
			says: name + " drives the cluster, and does what was asked for",
		},
		"a daemon at work": {
			before: func() runtime.Object { return record(daemon, time.Now()) },
			after: func(ctx context.Context, s *target.Session) error {
				_, err := s.Kube.CoordinationV1().Leases("ns").Update(ctx, record(daemon, time.Now()), metav1.UpdateOptions{})
				return err
			},
			says: name + " drives the cluster",
		},
		"a daemon that was done in no time": {
			before: func() runtime.Object { return record("", time.Now().Add(-time.Hour)) },
			after: func(ctx context.Context, s *target.Session) error {
				_, err := s.Kube.CoordinationV1().Leases("ns").Update(ctx, record("", time.Now()), metav1.UpdateOptions{})
				return err
			},
			says: "another process drives the cluster",
		},
		"an operator": {
			before: func() runtime.Object { return elected(time.Now()) },
			says:   "tidb-operator tidb-controller-manager-5d8f7-x2x4z in namespace ops drives the cluster",
		},
		"a process that was killed": {
			before: func() runtime.Object { return record(daemon, time.Now().Add(-time.Second)) },
			code:   exit.Refused, says: "what is wanted was written to cluster ns/t, but no other process began with it in 45s",
		},
		"nobody": {code: exit.Refused, says: "no other process began"},
		"interrupted": {
			after: func(context.Context, *target.Session) error { return exit.ErrInterrupted },
			code:  exit.Interrupted, says: "interrupted",
		},
	} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var objects []runtime.Object
				if tt.before != nil {
					objects = append(objects, tt.before())
				}
				s, h := session(objects...), &heard{}
				ctx, stop := context.WithCancelCause(t.Context())
				defer stop(nil)
				if tt.after != nil {
					time.AfterFunc(2*time.Second, func() {
						if err := tt.after(ctx, s); err != nil {
							stop(err)
						}
					})
				}
				err := run{Session: s, progress: h.progress(time.Now)}.leave(ctx, itself)
				said := strings.Join(h.all(), "\n")
				if err != nil {
					said = err.Error()
				} else if !strings.Contains(said, "kubectl tidb status t -w") {
					t.Errorf("%q does not say how to follow", said)
				}
				if exit.Of(err) != tt.code || !strings.Contains(said, tt.says) {
					t.Errorf("%d, %q; want %d, %q", exit.Of(err), said, tt.code, tt.says)
				}
			})
		})
	}
}

// TestLeaveUnread: a look that is cut off by the end of the wait is no failure; that the Lease could
// never be read is one.
func TestLeaveUnread(t *testing.T) {
	for _, tt := range []struct {
		readable int
		code     exit.Code
	}{{3, exit.Refused}, {0, exit.Failure}} {
		synctest.Test(t, func(t *testing.T) {
			s, reads := session(), 0
			s.Kube.(*fake.Clientset).PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
				reads++
				return reads > tt.readable, nil, context.DeadlineExceeded
			})
			r := run{Session: s, progress: (&heard{}).progress(time.Now)}
			if err := r.leave(t.Context(), itself); exit.Of(err) != tt.code {
				t.Errorf("%d reads: %v", tt.readable, err)
			}
		})
	}
}

// TestLeaveForbidden: where the Lease cannot be read, nobody is said not to drive the cluster.
func TestLeaveForbidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := session()
		s.Kube.(*fake.Clientset).PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "", nil)
		})
		r := run{Session: s, progress: (&heard{}).progress(time.Now)}
		if err := r.leave(t.Context(), itself); exit.Of(err) != exit.Forbidden {
			t.Error(err)
		}
	})
}
