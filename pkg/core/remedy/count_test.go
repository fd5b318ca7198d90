package remedy_test

import (
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 stores are", 1: "1 store is", 2: "2 stores are"} {
		if got := remedy.Count(n, "store is", "stores are"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestFirstFew(t *testing.T) {
	for want, all := range map[string][]string{
		"": nil, "a": {"a"}, "a, b, c": {"a", "b", "c"}, "a, b, c, and 2 more": {"a", "b", "c", "d", "e"},
	} {
		if got := remedy.FirstFew(all, ", "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
