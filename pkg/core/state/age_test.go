package state

import (
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{-time.Minute: "0s", 0: "0s", 90 * time.Second: "90s", 49 * time.Hour: "2d1h"} {
		if got := Age(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
