package topology

import (
	"maps"
	"strings"
	"testing"
	"time"
)

func TestMemberRestarts(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 700, time.FixedZone("", 3600))
	all := map[string]MemberRestart{"basic-tikv-1": {Pod: "a", At: noon}, "basic-tidb-0": {Pod: "b", At: noon}}
	tc := valid()
	tc.Name = "basic"
	AskMemberRestarts(tc, all)
	want := `{"basic-tidb-0":{"pod":"b","at":"2026-03-01T11:00:00Z"},"basic-tikv-1":{"pod":"a","at":"2026-03-01T11:00:00Z"}}`
	if got := tc.Annotations[AnnotationRestart]; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	c := New(tc)
	for kind, want := range map[Kind]string{TiKV: "basic-tikv-1", TiDB: "basic-tidb-0", PD: ""} {
		g, _ := c.Group(kind)
		var names []string
		for name := range maps.Keys(g.Restarts) {
			names = append(names, name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
	if len(requestWarnings[MemberRestart](c, AnnotationRestart, "restarted")) > 0 {
		t.Error("warned about what can be read")
	}
	AskMemberRestarts(tc, nil)
	if _, left := tc.Annotations[AnnotationRestart]; left {
		t.Error("an annotation without a request")
	}
}

// TestUnreadableMemberRestarts: nothing restarts by what cannot be read, and the user learns why.
func TestUnreadableMemberRestarts(t *testing.T) {
	tc := valid()
	tc.Annotations = map[string]string{AnnotationRestart: "tikv-1"}
	c := New(tc)
	for _, g := range c.Groups {
		if len(g.Restarts) > 0 {
			t.Errorf("%s: %v", g.Kind, g.Restarts)
		}
	}
	all := requestWarnings[MemberRestart](c, AnnotationRestart, "restarted")
	if len(all) != 1 || !strings.Contains(all[0].String(), "metadata.annotations[kubectl-tidb/restart] cannot be read") ||
		!strings.Contains(all[0].Remedy.Line(""), AnnotationRestart+"-") {
		t.Errorf("%v", all)
	}
}
