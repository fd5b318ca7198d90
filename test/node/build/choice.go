package build

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Choices of parts.
const (
	// Everything is what the end-to-end tests need.
	Everything = "all"
	// Demo is what runs PD, TiKV and TiDB at two versions.
	Demo = "demo"
)

// Chosen returns the parts of a choice, and the others, which nothing waits for.
func Chosen(choice string) (parts, others []Part, err error) {
	switch choice {
	case Everything:
		return Parts(), nil, nil
	case Demo:
		extra := []string{Pump, TiCDC, TiProxy, S3, Versioned(BR, OldVersion), Versioned(BR, NewVersion)}
		for _, part := range Parts() {
			if slices.Contains(extra, part.Name) {
				others = append(others, part)
			} else {
				parts = append(parts, part)
			}
		}
		return parts, others, nil
	}
	return nil, nil, fmt.Errorf("there is no choice of parts %q, only %s and %s", choice, Everything, Demo)
}

// coldBuild is how long parts take that share nothing with what was compiled before, on two idle cores.
var coldBuild = map[string]time.Duration{
	Etcd: 35 * time.Second, CoreDNS: 55 * time.Second, Store: 55 * time.Second, Pump: 30 * time.Second,
	Versioned(PD, OldVersion): 55 * time.Second, Versioned(TiDB, OldVersion): 50 * time.Second,
	Versioned(BR, OldVersion): 25 * time.Second, Kubectl: 30 * time.Second, Kubernetes: 4 * time.Minute,
}

// announcement says what is about to be compiled, how long that may take, and what is left out; "" if that is nothing.
func announcement(missing, unused []Part) string {
	if len(missing) == 0 {
		return ""
	}
	var total time.Duration
	for _, part := range missing {
		total += coldBuild[part.Name]
	}
	text := fmt.Sprintf("compiling %s, which takes about %d min on two cores; the results are kept for the next time\n",
		names(missing), int((total+time.Minute-1)/time.Minute))
	if len(unused) > 0 {
		text += fmt.Sprintf("not compiling %s: nothing that was asked for runs them\n", names(unused))
	}
	return text
}

func names(parts []Part) string {
	var all []string
	for _, part := range parts {
		all = append(all, part.Name)
	}
	return strings.Join(all, ", ")
}
