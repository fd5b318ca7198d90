package ledger

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

const drainPrefix = "drain-capture."

type drain struct {
	Pod     string    `json:"pod"` // its UID
	Capture string    `json:"capture,omitempty"`
	Of      string    `json:"of,omitempty"`
	Since   time.Time `json:"since"`
	Asked   time.Time `json:"asked"`
	Tables  int       `json:"tables"`
	Refused bool      `json:"refused,omitempty"`
	Most    int       `json:"most,omitempty"`
	Empty   time.Time `json:"empty,omitzero"`
}

// DrainKey returns the key of the record of a drain of a member.
func DrainKey(member string) string { return drainPrefix + member }

// EncodeDrain returns the value to write under DrainKey.
func EncodeDrain(d state.Drain) (string, error) {
	seconds := func(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
	b, err := json.Marshal(drain{d.PodUID, d.Capture, d.Of, seconds(d.Since), seconds(d.Asked), d.Tables, d.Refused, d.Most, seconds(d.Empty)})
	if err != nil {
		return "", fmt.Errorf("encode the record of a drain of %s: %w", d.Member, err)
	}
	return string(b), nil
}

// readDrain reads the record of a drain; false if the key is of another record.
func readDrain(key, value string) (state.Drain, bool, error) {
	member, ok := strings.CutPrefix(key, drainPrefix)
	if !ok {
		return state.Drain{}, false, nil
	}
	var d drain
	if err := json.Unmarshal([]byte(value), &d); err != nil {
		return state.Drain{}, true, err
	}
	return state.Drain{
		Member: member, PodUID: d.Pod, Capture: d.Capture, Of: d.Of, Since: d.Since, Asked: d.Asked, Tables: d.Tables, Refused: d.Refused,
		Most: d.Most, Empty: d.Empty,
	}, true, nil
}
