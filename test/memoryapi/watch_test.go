package memoryapi

import (
	"context"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestWatchWithoutEvents: a watch that has nothing to show, or that is woken for what it has shown, goes on.
func TestWatchWithoutEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		in := schema.GroupResource{Resource: "configmaps"}
		s := &store{version: 1, collections: map[schema.GroupResource]*collection{}}
		w := s.watch(ctx, in, selection{labels: labels.Everything(), fields: fields.Everything()}, false, 1)
		var shown []event
		ended := false
		go func() {
			for batch := w.next(ctx); batch != nil; batch = w.next(ctx) {
				shown = append(shown, batch...)
			}
			ended = true
		}()
		for n, name := range []string{"a", "b"} {
			synctest.Wait()
			if ended || len(shown) != n {
				t.Fatalf("before %s: ended %t, %d events", name, ended, len(shown))
			}
			if _, err := s.create(in, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, false); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			w.wake <- struct{}{} // as when an event comes between a wake and what it is woken for
		}
		synctest.Wait()
		end()
		synctest.Wait()
		if !ended || len(shown) != 2 {
			t.Errorf("ended %t, %d events", ended, len(shown))
		}
	})
}
