package ledger

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

func TestDrains(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	want := state.Drain{
		Member: "basic-ticdc-1", PodUID: "u", Capture: "a", Of: "b", Since: at, Asked: at.Add(time.Minute), Tables: 7, Refused: true,
		Most: 9, Empty: at.Add(time.Second),
	}
	given := want
	given.Asked = given.Asked.Add(time.Millisecond).Local()
	text, err := EncodeDrain(given)
	if err != nil {
		t.Fatal(err)
	}
	book := Read(&corev1.ConfigMap{Data: map[string]string{DrainKey("basic-ticdc-1"): text, DrainKey("basic-ticdc-2"): "{"}})
	if len(book.Drains) != 1 || book.Drains[0] != want {
		t.Errorf("%+v, want %+v", book.Drains, want)
	}
	if len(book.Gaps) != 1 {
		t.Errorf("what cannot be read: %+v", book.Gaps)
	}
}
