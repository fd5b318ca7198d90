package intent

import (
	"slices"
	"strings"
)

// similar returns the names that a user may have meant, the most similar first.
func similar(name string, names []string) []string {
	near := slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return distance(name, n) > max(1, len(name)/3) && !strings.HasPrefix(n, name)
	})
	slices.SortStableFunc(near, func(a, b string) int { return distance(name, a) - distance(name, b) })
	return near[:min(len(near), 3)]
}

// distance returns the number of letters to insert, delete or replace to get from one word to the
// other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
