package act

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tidb"
)

// TestEndDDLPause: TiDB is asked first, and the record goes only when TiDB has ended the pause. Nothing is asked of
// TiDB for a record that is gone, for a pod that was recreated, or in a paused cluster.
func TestEndDDLPause(t *testing.T) {
	next := step.EndDDLPause{Component: topology.TiDB, Member: "basic-tidb-0", PodUID: string(pod(topology.TiDB, 0).UID)}
	refused := errors.New("refused")
	for name, tt := range map[string]struct {
		change       func(*fixture)
		uid          string
		answer       error
		asked, fails bool
		recorded     bool
	}{
		"it ends":                 {asked: true},
		"TiDB refuses":            {answer: refused, asked: true, fails: true, recorded: true},
		"the record is not ended": {change: func(w *fixture) { w.intent.fails = refused }, asked: true, fails: true, recorded: true},
		"no record":               {change: func(w *fixture) { w.intent.tc.Annotations = nil }},
		"another pod":             {uid: "uid-1", fails: true, recorded: true},
		"another TidbCluster":     {change: func(w *fixture) { w.intent.tc.UID = "another" }, fails: true, recorded: true},
		"paused":                  {change: func(w *fixture) { w.intent.tc.Spec.Paused = true }, fails: true, recorded: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, pod(topology.TiDB, 0))
			w.intent.tc.UID = cluster.UID
			w.intent.tc.Annotations = map[string]string{topology.DDLPauseAnnotations()[0]: "true", topology.DDLPauseAnnotations()[1]: "x"}
			if tt.change != nil {
				tt.change(w)
			}
			var asked bool
			w.OnDDL(DDL{Resume: func(context.Context, topology.Cluster, int) error { asked = true; return tt.answer }})
			s := next
			if tt.uid != "" {
				s.PodUID = tt.uid
			}
			err := w.Do(t.Context(), s)
			if recorded := len(w.intent.tc.Annotations) > 0; (err != nil) != tt.fails || asked != tt.asked || recorded != tt.recorded {
				t.Errorf("asked %t, recorded %t, %v", asked, recorded, err)
			}
		})
	}
}

// TestBeginDDLPause: the record is written before TiDB is asked, and goes only when TiDB says that it does not pause.
// The step never fails because of TiDB or of the record, so that the upgrade goes on, and each such case has one
// notice.
func TestBeginDDLPause(t *testing.T) {
	next := step.BeginDDLPause{
		Component: topology.TiDB, Member: "basic-tidb-1", By: "basic-tidb-0", PodUID: string(pod(topology.TiDB, 0).UID),
		From: "v8.1.0", To: "v8.5.0", Revision: "r2",
	}
	broken, refused := errors.New("broken"), fmt.Errorf("pause: %w", &tidb.RefusedError{})
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "tidbclusters"}, "basic", broken)
	for name, tt := range map[string]struct {
		change   func(*fixture)
		uid      string
		cannot   error // pause, by what TiDB says before
		answer   error
		lost     bool // the lease, while TiDB is asked
		asked    bool
		fails    bool
		recorded bool
		notice   string
	}{
		"it begins":           {asked: true, recorded: true},
		"TiDB cannot pause":   {cannot: refused, notice: "are not paused for the upgrade of TiDB, which goes on"},
		"TiDB refuses":        {answer: refused, asked: true, notice: "are not paused for the upgrade of TiDB, which goes on"},
		"no answer":           {answer: broken, asked: true, recorded: true, notice: "may not be paused"},
		"it is not permitted": {change: func(w *fixture) { w.intent.fails = forbidden }, notice: "could not be recorded"},
		"it is recorded already": {change: func(w *fixture) {
			w.intent.tc.Annotations = map[string]string{topology.DDLPauseAnnotations()[0]: "true"}
		}, recorded: true},
		"another pod":         {uid: "uid-1", fails: true},
		"another TidbCluster": {change: func(w *fixture) { w.intent.tc.UID = "another" }, fails: true},
		"paused":              {change: func(w *fixture) { w.intent.tc.Spec.Paused = true }, fails: true},
		"the user wants none": {change: func(w *fixture) {
			w.intent.tc.Annotations = map[string]string{topology.AnnotationDDLPause: "false"}
		}, fails: true},
		"a canary": {change: func(w *fixture) {
			w.intent.tc.Annotations = map[string]string{topology.AnnotationCanary: "1"}
		}, fails: true},
		"the lease is lost": {lost: true, answer: context.Canceled, fails: true, asked: true, recorded: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, pod(topology.TiDB, 0))
			w.intent.tc.UID, w.intent.tc.Spec.TiDB = cluster.UID, &v1alpha1.TiDBSpec{Replicas: 2}
			w.intent.tc.Spec.PD, w.intent.tc.Spec.TiKV = &v1alpha1.PDSpec{Replicas: 3}, &v1alpha1.TiKVSpec{Replicas: 3}
			if tt.change != nil {
				tt.change(w)
			}
			is := func() topology.DDLPause { return topology.New(&w.intent.tc).DDLPause }
			var asked bool
			var notices []string
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			w.OnDDL(DDL{
				CanPause: func(context.Context, topology.Cluster, int) error {
					if is().Recorded {
						t.Error("the record is written first")
					}
					return tt.cannot
				},
				Pause: func(_ context.Context, _ topology.Cluster, ordinal int) error {
					if asked = true; !is().Recorded || ordinal != 0 {
						t.Errorf("server %d is asked with the record %+v", ordinal, is())
					}
					if tt.lost {
						interrupt()
					}
					return tt.answer
				},
				Notice: func(text string) { notices = append(notices, text) },
			})
			s := next
			if tt.uid != "" {
				s.PodUID = tt.uid
			}
			err := w.Do(ctx, s)
			if got := is(); (err != nil) != tt.fails || asked != tt.asked || got.Recorded != tt.recorded {
				t.Errorf("asked %t, %+v, %v", asked, got, err)
			}
			if want := (topology.DDLPause{Recorded: true, Since: now.UTC(), From: "v8.1.0", To: "v8.5.0"}); tt.asked && tt.recorded && is() != want {
				t.Errorf("recorded %+v, want %+v", is(), want)
			}
			if said := strings.Join(notices, "; "); len(notices) > 1 || (said != "") != (tt.notice != "") || !strings.Contains(said, tt.notice) {
				t.Errorf("notices %q", notices)
			}
		})
	}
}
