package cli

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestSecondSignal(t *testing.T) {
	for name, tc := range map[string]struct {
		after []time.Duration
		want  bool
	}{
		"one":                      {nil, false},
		"the same one, twice":      {[]time.Duration{time.Millisecond}, false},
		"of a group, three times":  {[]time.Duration{0, 300 * time.Millisecond}, false},
		"a second one":             {[]time.Duration{2 * time.Second}, true},
		"the same one, and a next": {[]time.Duration{time.Millisecond, 3 * time.Second}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals := make(chan os.Signal, 2)
				go func() {
					for _, pause := range tc.after {
						time.Sleep(pause)
						signals <- syscall.SIGTERM
					}
					close(signals)
				}()
				if got := second(signals); got != tc.want {
					t.Errorf("got %t", got)
				}
			})
		})
	}
}
