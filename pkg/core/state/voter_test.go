package state

import (
	"slices"
	"strings"
	"testing"
)

// voters reads one word for each voter: the ordinal of the one that it follows, none, silent or stopped; a trailing ~
// says that it lags.
func voters(words string) Voters {
	var all Voters
	for i, w := range strings.Fields(words) {
		v := Voter{Name: "pd-" + string(rune('0'+i)), CaughtUp: !strings.HasSuffix(w, "~")}
		switch w = strings.TrimSuffix(w, "~"); w {
		case "silent":
		case "stopped":
			v.Stopped = true
		case "none":
			v.Answered = true
		default:
			v.Answered, v.Follows = true, "pd-"+w
		}
		all = append(all, v)
	}
	return all
}

// TestUnanswered: PD has no leader only by the word of who can know that; and a quorum that is silent may have one.
func TestUnanswered(t *testing.T) {
	for words, want := range map[string]string{
		"":                                "has none",
		"none":                            "leaderless; unled pd-0",
		"silent":                          "unreached pd-0",
		"stopped":                         "has none",
		"silent 0 0":                      "unreached pd-0",
		"silent none 0":                   "unreached pd-0; unled pd-1",
		"silent none none":                "leaderless; unled pd-1,pd-2",
		"silent silent none":              "unreached pd-0,pd-1; unled pd-2",
		"silent stopped none":             "leaderless; unled pd-2",
		"stopped stopped none":            "leaderless; unled pd-2",
		"stopped stopped stopped":         "has none",
		"none silent":                     "leaderless; unled pd-0",
		"none silent silent silent":       "unreached pd-1,pd-2,pd-3; unled pd-0",
		"none none silent silent":         "leaderless; unled pd-0,pd-1",
		"none none silent silent silent":  "unreached pd-2,pd-3,pd-4; unled pd-0,pd-1",
		"none none stopped silent silent": "leaderless; unled pd-0,pd-1",
		"0 0 0":                           "has none", // its etcd has a leader, which does not lead PD yet
		"9 silent silent":                 "has none",
	} {
		pd := Unanswered(voters(words))
		got := "has none"
		switch {
		case pd.Leaderless:
			got = "leaderless"
		case len(pd.Unreached) > 0:
			got = "unreached " + strings.Join(pd.Unreached, ",")
			if !strings.Contains(pd.Problem, "cannot be reached from here") {
				t.Errorf("%s: %s", words, pd.Problem)
			}
		}
		if len(pd.Unled) > 0 {
			got += "; unled " + strings.Join(pd.Unled, ",")
		}
		if got != want || pd.Known() {
			t.Errorf("%q: got %s, want %s", words, got, want)
		}
	}
}

// TestLeaderlessIsNeverAQuorum: whatever the voters say, PD is leaderless only if no quorum of those that follow no
// leader, or may run, could serve without the ones that answer.
func TestLeaderlessIsNeverAQuorum(t *testing.T) {
	words := []string{"0", "none", "silent", "stopped"}
	for n := 1; n <= 5; n++ {
		total := 1
		for range n {
			total *= len(words)
		}
		for k := range total {
			var pick []string
			for i, rest := 0, k; i < n; i, rest = i+1, rest/len(words) {
				pick = append(pick, words[rest%len(words)])
			}
			v := voters(strings.Join(pick, " "))
			may := 0
			for _, w := range pick {
				if w == "0" || w == "silent" {
					may++
				}
			}
			if pd := Unanswered(v); pd.Leaderless && (may >= v.Quorum() || slices.Contains(pick, "0")) {
				t.Errorf("%v: leaderless, and %d may serve", pick, may)
			}
		}
	}
}

// TestSpares: a member may be restarted if so many others say that they follow the same leader and have caught up.
func TestSpares(t *testing.T) {
	for words, want := range map[string]bool{
		"1 1 1":               true, // without pd-0
		"0 0 0":               true,
		"1 1 silent":          false,
		"1 1 none":            false,
		"1 1 1~":              false,
		"1 1 2":               false,
		"silent 1 1":          true,
		"none none none":      false,
		"silent silent 1":     false,
		"1 1":                 true, // a PD of two loses its quorum with any restart
		"0":                   true,
		"none":                false,
		"none none":           false,
		"0 0 0 silent":        false,
		"0 0 0 0":             true,
		"silent 1 1 1 silent": true,
		"1 1 1 silent silent": false,
		"":                    false,
	} {
		if got := voters(words).Spares("pd-0"); got != want {
			t.Errorf("%q: got %t", words, got)
		}
	}
	if v := voters("0 0 silent"); !v.Spares("pd-3") {
		t.Error("a member that does not vote is not spared")
	}
	if v, ok := voters("0 0").Of("pd-1"); !ok || v.Name != "pd-1" {
		t.Errorf("%+v", v)
	}
	if _, ok := voters("0 0").Of("pd-2"); ok {
		t.Error("no such voter")
	}
}
