package intent

import (
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// Similar returns the names that a user may have meant, the most similar first.
func Similar(name string, names []string) []string {
	near := slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return distance(name, n) > max(1, len(name)/3) && !strings.HasPrefix(n, name)
	})
	slices.SortStableFunc(near, func(a, b string) int { return distance(name, a) - distance(name, b) })
	return near[:min(len(near), 3)]
}

// distance returns the number of letters to insert, delete or replace to get from one word to the
// other.
func distance(a, b string) int { return levenshtein.Distance(a, b, nil) }
