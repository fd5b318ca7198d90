package remedy

import (
	"fmt"
	"strings"
)

// Count returns a number with the words after it, which differ for one and for many.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// FirstFew joins the first three of several texts, and says how many more there are.
func FirstFew(all []string, between string) string {
	const shown = 3
	if len(all) <= shown {
		return strings.Join(all, between)
	}
	return fmt.Sprintf("%s%sand %d more", strings.Join(all[:shown], between), between, len(all)-shown)
}
