package topology

import (
	"strings"
	"testing"
	"time"
)

// TestEvictTimeout: only a time in the spec limits an eviction. One that nobody can read is none, and
// that is said.
func TestEvictTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		written *string
		want    *time.Duration
		warns   bool
	}{
		"none":         {nil, nil, false},
		"ten minutes":  {new("10m"), new(10 * time.Minute), false},
		"no time":      {new("0s"), new(time.Duration(0)), false},
		"not readable": {new("10 minutes"), nil, true},
		"empty":        {new(""), nil, true},
	} {
		tc := valid()
		tc.Spec.TiKV.EvictLeaderTimeout = c.written
		cluster := New(tc)
		g, _ := cluster.Group(TiKV)
		if got := g.EvictTimeout; (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %v", name, got)
		}
		warned := false
		for _, w := range Warnings(nil, cluster) {
			warned = warned || strings.Contains(w.String(), "spec.tikv.evictLeaderTimeout has no effect")
		}
		if warned != c.warns {
			t.Errorf("%s: warned: %t", name, warned)
		}
	}
}
