package state

import (
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Age returns a duration as kubectl writes it. Clocks differ, so a negative duration counts as zero: kubectl's own
// function returns "<invalid>".
func Age(d time.Duration) string { return duration.HumanDuration(max(d, 0)) }
