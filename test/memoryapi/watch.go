package memoryapi

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// event is a change that a watch shows.
type event struct {
	how watch.EventType
	o   *object // nil for a bookmark
	at  int64   // the version of the server
}

// watcher keeps the events of one watch until they are sent, however many they are.
type watcher struct {
	selection
	mu    sync.Mutex
	queue []event
	wake  chan struct{}
	// announce is nil where events are sent at once; announced is true from then until they are taken.
	announce  func(watch string, send func())
	announced bool
	name      string
}

// watch begins to watch. With initial it shows what there is, and then a bookmark; otherwise what has
// changed since a version, each object once, and what was deleted.
func (s *store) watch(ctx context.Context, r schema.GroupResource, sel selection, initial bool, since int64) *watcher {
	w := &watcher{selection: sel, wake: make(chan struct{}, 1), announce: s.announce, name: r.String() + " " + sel.String()}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.collection(r)
	for _, o := range c.selected(sel) {
		if initial || o.version > since {
			w.queue = append(w.queue, event{watch.Added, o, o.version})
		}
	}
	if !initial {
		w.queue = append(w.queue, c.deletedSince(sel, since)...)
		slices.SortStableFunc(w.queue, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	}
	if initial {
		w.queue = append(w.queue, event{watch.Bookmark, nil, s.version})
	}
	w.wake <- struct{}{}
	c.watches[w] = struct{}{}
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(c.watches, w)
	})
	return w
}

// see shows a change. An object that is not selected any more is shown as deleted.
func (w *watcher) see(how watch.EventType, before, after *object) {
	was, is := before != nil && w.matches(before), w.matches(after)
	switch {
	case !was && !is:
		return
	case how == watch.Modified && !was:
		how = watch.Added
	case how == watch.Modified && !is:
		how = watch.Deleted
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, event{how, after, after.version})
	switch {
	case w.announce == nil:
		w.send()
	case !w.announced:
		w.announced = true
		w.announce(w.name, w.send)
	}
}

// send lets the events be sent that have come.
func (w *watcher) send() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// next returns the events that have come, nil at the end of ctx. It may be woken for events that it has returned
// before.
func (w *watcher) next(ctx context.Context) []event {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.wake:
		}
		if all := w.take(); len(all) > 0 {
			return all
		}
	}
}

// kept is how many deleted objects a collection keeps for watches.
const kept = 1000

// keepDeleted keeps an object for watches that begin before its deletion.
func (c *collection) keepDeleted(o *object) {
	if c.deleted = append(c.deleted, o); len(c.deleted) > kept {
		c.deleted = slices.Clone(c.deleted[len(c.deleted)-kept/2:])
	}
}

// deletedSince returns the events of objects that were deleted after a version.
func (c *collection) deletedSince(sel selection, since int64) []event {
	var all []event
	for _, o := range c.deleted {
		if o.version > since && sel.matches(o) {
			all = append(all, event{watch.Deleted, o, o.version})
		}
	}
	return all
}

func (w *watcher) take() []event {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.queue
	w.queue, w.announced = nil, false
	return all
}
