package remedy

import "fmt"

// Count returns a number with the words after it, which differ for one and for many.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
