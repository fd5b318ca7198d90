package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestWatch: what is shown is shown again when it has changed, and not because time goes by. A change
// is seen in a second, and what nothing reports in ten.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := errors.New("interrupted")
		ctx, cancel := context.WithCancelCause(t.Context())
		var out bytes.Buffer
		var state atomic.Value
		state.Store("upgrading")
		looks, changed := 0, make(chan struct{}, 1)
		begun := time.Now()
		w, done := Watch(true), make(chan error)
		go func() {
			done <- w.Show(ctx, &out, func(context.Context) (<-chan struct{}, error) { return changed, nil }, func(to io.Writer) error {
				looks++
				_, err := fmt.Fprintf(to, "basic %s %s\n", state.Load(), time.Since(begun).Truncate(time.Second))
				return err
			})
		}()
		time.Sleep(21 * time.Second) // three looks, and nothing new
		state.Store("converged")
		changed <- struct{}{}
		time.Sleep(time.Second)
		state.Store("blocked")
		time.Sleep(11 * time.Second)
		cancel(over)
		if err := <-done; !errors.Is(err, over) {
			t.Error(err)
		}
		if got := out.String(); got != "basic upgrading 0s\nbasic converged 21s\nbasic blocked 31s\n" || looks != 5 {
			t.Errorf("after %d looks: %s", looks, got)
		}
	})
}

// TestLasting: a table in which only ages have changed is the same one, also where the columns after
// them have moved.
func TestLasting(t *testing.T) {
	const was = "MEMBER   AGE   NODE\npd-0     99s   node-1\npd-1     9s    node-2\n"
	for now, same := range map[string]bool{
		"MEMBER   AGE    NODE\npd-0     100s   node-1\npd-1     10s    node-2\n":      true,
		"MEMBER   AGE   NODE\npd-0     2m    node-1\npd-1     61s   node-2\n":         true,
		"---\nMEMBER   AGE    NODE\npd-0     2y5d   node-1\npd-1     3y     node-2\n": true,
		"MEMBER   AGE    NODE\npd-0     100s   node-1\npd-1     10s    node-3\n":      false,
		"MEMBER   AGE    NODE\npd-0     100s   node-1\n":                              false,
	} {
		if (lasting(now) == lasting(was)) != same {
			t.Errorf("%q: %q; before %q", now, lasting(now), lasting(was))
		}
	}
}

// TestWatchOnce: without the flag it is shown once, and nothing is watched.
func TestWatchOnce(t *testing.T) {
	var out bytes.Buffer
	w := new(Watch)
	if err := w.Show(t.Context(), &out, nil, func(to io.Writer) error { _, err := io.WriteString(to, "basic"); return err }); err != nil || out.String() != "basic" {
		t.Errorf("%v: %s", err, out.String())
	}
}
