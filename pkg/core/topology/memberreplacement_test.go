package topology

import (
	"strings"
	"testing"
	"time"
)

// TestMemberReplacements: a request names claims, and belongs to the component of its member.
func TestMemberReplacements(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 700, time.FixedZone("", 3600))
	tc := valid()
	tc.Name = "basic"
	AskMemberReplacements(tc, map[string]MemberReplacement{"basic-tikv-1": {Claims: []string{"a"}, At: noon, Spare: true, WaitBalanced: true}})
	want := `{"basic-tikv-1":{"claims":["a"],"at":"2026-03-01T11:00:00Z","spare":true,"waitBalanced":true}}`
	if got := tc.Annotations[AnnotationReplace]; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	c := New(tc)
	for kind, want := range map[Kind]bool{TiKV: true, PD: false} {
		if g, _ := c.Group(kind); g.ReplacesClaim("a") != want || g.ReplacesClaim("b") {
			t.Errorf("%s: %v", kind, g.Replacements)
		}
	}
	AskMemberReplacements(tc, nil)
	if _, left := tc.Annotations[AnnotationReplace]; left {
		t.Error("an annotation without a request")
	}
}

// TestUnreadableMemberReplacements: nothing is replaced by what cannot be read, and the user learns why.
func TestUnreadableMemberReplacements(t *testing.T) {
	tc := valid()
	tc.Annotations = map[string]string{AnnotationReplace: "tikv-1"}
	c := New(tc)
	for _, g := range c.Groups {
		if len(g.Replacements) > 0 {
			t.Errorf("%s: %v", g.Kind, g.Replacements)
		}
	}
	all := Warnings(nil, c)
	if !strings.Contains(all[0].String(), "metadata.annotations[kubectl-tidb/replace] cannot be read, so that no member is replaced") ||
		!strings.Contains(all[0].Remedy.Line(""), AnnotationReplace+"-") {
		t.Errorf("%v", all)
	}
}
