package wave

import (
	"fmt"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"1,10%,100%": "[1 10% 100%]",
		" 1 , 3":     "[1 3]",
		"100%":       "[100%]",
		"5,10%":      "[5 10%]",

		"":        "no wave is given",
		"1,,3":    `"" is neither a number`,
		"one":     `"one" is neither a number`,
		"1.5%":    `"1.5%" is neither a number`,
		"0":       "at least one cluster",
		"0%":      "at least one cluster",
		"-1":      "at least one cluster",
		"101%":    "no more clusters than 100%",
		"3,1":     "1 after 3",
		"2,2":     "2 after 2",
		"50%,10%": "10% after 50%",
		"5,10%,4": "4 after 5",
	} {
		sizes, err := Parse(text)
		got := fmt.Sprint(sizes)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestSplit: a digit is the number of clusters of a unit. In the result, waves have spaces between them.
func TestSplit(t *testing.T) {
	for _, c := range []struct {
		sizes, units, want string
		left               int
	}{
		{"100%", "111", "111", 0},
		{"1,100%", "1", "1", 0},
		{"1,100%", "111", "1 11", 0},
		{"1,10%,100%", "111", "1 1 1", 0},
		{"1,10%,100%", "11111111111111111111", "1 1 111111111111111111", 0},
		{"1,10%,100%", "111111111111111111111", "1 11 111111111111111111", 0},
		{"3,10%,100%", "1111111111", "111 1 111111", 0},
		{"1,3,100%", "11", "1 1", 0},
		{"1,5", "1111", "1 111", 0},
		{"1,5", "1111111", "1 1111", 2},
		{"50%", "11111", "111", 2},
		{"1,2,100%", "312", "3 1 2", 0},
		{"2,100%", "13", "13", 0},
		{"100%", "", "", 0},
	} {
		sizes, err := Parse(c.sizes)
		if err != nil {
			t.Fatal(err)
		}
		var units [][]bool
		for _, digit := range c.units {
			units = append(units, make([]bool, digit-'0'))
		}
		waves, left := Split(sizes, units)
		var all []string
		for _, w := range waves {
			text := ""
			for _, u := range w {
				text += fmt.Sprint(len(u))
			}
			all = append(all, text)
		}
		if got := strings.Join(all, " "); got != c.want || left != c.left {
			t.Errorf("%s of %s: %q and %d left, want %q and %d", c.sizes, c.units, got, left, c.want, c.left)
		}
	}
}
