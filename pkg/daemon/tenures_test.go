package daemon

import (
	"fmt"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/lease"
)

// TestTenures: what is told of a cluster is true, in whatever order the ends of its
// leases are found out about.
func TestTenures(t *testing.T) {
	for name, tt := range map[string]struct {
		do   []string
		want string // what was told
	}{
		"begins and ends":                     {[]string{"begin a", "end a"}, "[true false]"},
		"ends late, when the next has begun":  {[]string{"begin a", "begin b", "end a"}, "[true true]"},
		"the next one ends as well":           {[]string{"begin a", "begin b", "end a", "end b"}, "[true true false]"},
		"is let go of before its end is seen": {[]string{"begin a", "end a", "end a"}, "[true false]"},
		"has never begun":                     {[]string{"end -"}, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			told := []bool{}
			s := tenures{tell: func(held bool) { told = append(told, held) }}
			all := map[string]*lease.Held{"a": {}, "b": {}}
			for _, step := range tt.do {
				var what, which string
				if _, err := fmt.Sscan(step, &what, &which); err != nil {
					t.Fatal(err)
				}
				before := len(told)
				if what == "begin" {
					s.begin(all[which])
				} else if news := s.end(all[which]); news != (len(told) > before) {
					t.Errorf("%s: news: %t, told: %v", step, news, told[before:])
				}
			}
			if got := fmt.Sprint(told); got != tt.want {
				t.Errorf("told %s, want %s", got, tt.want)
			}
		})
	}
}
