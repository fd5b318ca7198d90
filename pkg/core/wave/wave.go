// Package wave decides which clusters are upgraded first, and which later. Each wave begins when the wave before it is
// over, so that what goes wrong with a new version is seen in few clusters.
package wave

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Size says how many clusters are done when a wave is over: a number, or a percentage of all clusters. It counts the
// clusters of earlier waves too.
type Size struct {
	Number  int
	Percent bool
}

func (s Size) String() string {
	if s.Percent {
		return strconv.Itoa(s.Number) + "%"
	}
	return strconv.Itoa(s.Number)
}

// target returns how many clusters of a total are done when the wave is over. A part of a cluster counts as one.
func (s Size) target(total int) int {
	if s.Percent {
		return (s.Number*total + 99) / 100
	}
	return s.Number
}

// Parse reads the sizes of waves with commas between them, e.g. "1,10%,100%".
func Parse(text string) ([]Size, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("no wave is given")
	}
	var all []Size
	for word := range strings.SplitSeq(text, ",") {
		size, err := parse(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		for _, before := range all {
			if before.Percent == size.Percent && before.Number >= size.Number {
				return nil, fmt.Errorf("%s after %s: a wave counts the clusters of the waves before it, so each number is larger than the one before", size, before)
			}
		}
		all = append(all, size)
	}
	return all, nil
}

func parse(word string) (Size, error) {
	number, percent := strings.CutSuffix(word, "%")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return Size{}, fmt.Errorf("%q is neither a number of clusters, such as 2, nor a percentage of all clusters, such as 10%%", word)
	case n < 1:
		return Size{}, fmt.Errorf("%s: a wave has at least one cluster", word)
	case percent && n > 100:
		return Size{}, fmt.Errorf("%s: there are no more clusters than 100%%", word)
	}
	return Size{n, percent}, nil
}

// Split returns the units of each wave, in their order, and how many clusters are in no wave. A unit has the clusters
// that are in the same wave whatever the sizes are. Each wave has at least one unit, until all units are in a wave.
func Split[T any](sizes []Size, units [][]T) (waves [][][]T, left int) {
	total := 0
	for _, u := range units {
		total += len(u)
	}
	done := 0
	for _, s := range sizes {
		var now [][]T
		for len(units) > 0 && (len(now) == 0 || done < s.target(total)) {
			now, done, units = append(now, units[0]), done+len(units[0]), units[1:]
		}
		if len(now) > 0 {
			waves = append(waves, now)
		}
	}
	return waves, total - done
}
