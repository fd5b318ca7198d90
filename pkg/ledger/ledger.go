// Package ledger encodes what we remember of temporary state that we made in
// PD: one ConfigMap per cluster, one key per evict-leader scheduler.
//
// A record says that a scheduler may be ours to remove, and since when it has
// been wanted. Whether PD has it is asked of PD: the record is written before
// PD is asked to make the scheduler and removed after PD has let go of it, so
// that no scheduler of ours is ever without a record, while a record may well be
// without a scheduler. A scheduler without a record is somebody else's.
//
// It is pure; package act writes the ConfigMap and package observe reads it.
package ledger

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
)

// evictLeader begins the keys of records of evict-leader schedulers; the
// store's id follows.
const evictLeader = "evict-leader."

// Record is what is remembered of one evict-leader scheduler.
type Record struct {
	Member string    `json:"member"` // the pod's name
	Since  time.Time `json:"since"`
	// Owner is the driver that wrote the record.
	Owner string `json:"owner,omitempty"`
	// Foreign: PD had the scheduler before us. We rely on it but it stays when
	// we are done.
	Foreign bool `json:"foreign,omitempty"`
	// Leaders is the number of region leaders on the store before the eviction,
	// so that a run that goes on after a crash knows how many are to come back.
	Leaders int `json:"leaders,omitempty"`
	// Ended is when the scheduler was removed, while the record waits for them.
	Ended time.Time `json:"ended,omitzero"`
}

// Key is the key of the record for a store.
func Key(storeID uint64) string { return evictLeader + strconv.FormatUint(storeID, 10) }

// Encode is the value to write under Key.
func Encode(r Record) (string, error) {
	r.Since, r.Ended = r.Since.UTC().Truncate(time.Second), r.Ended.UTC().Truncate(time.Second)
	b, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encode eviction record of %s: %w", r.Member, err)
	}
	return string(b), nil
}

// Decode finds the record for a store in the ledger, which may be nil. A record
// that cannot be read is still a record: somebody of us made the scheduler, only
// when is unknown. Were it dropped, the scheduler would stay for ever.
func Decode(cm *corev1.ConfigMap, storeID uint64) (Record, bool) {
	if cm == nil {
		return Record{}, false
	}
	value, ok := cm.Data[Key(storeID)]
	if !ok {
		return Record{}, false
	}
	return decode(value), true
}

func decode(value string) Record {
	var r Record
	if err := json.Unmarshal([]byte(value), &r); err != nil {
		return Record{}
	}
	return r
}

// Evictions lists the records of the ledger, which may be nil, by store id. A
// key that names no store is an error: nobody can tell what it was for.
func Evictions(cm *corev1.ConfigMap) ([]state.Eviction, error) {
	if cm == nil {
		return nil, nil
	}
	var out []state.Eviction
	for key, value := range cm.Data {
		digits, ok := strings.CutPrefix(key, evictLeader)
		if !ok {
			continue // a later version's own business
		}
		id, err := strconv.ParseUint(digits, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read ledger %s/%s: key %q names no store: remove it", cm.Namespace, cm.Name, key)
		}
		r := decode(value)
		out = append(out, state.Eviction{StoreID: id, Member: r.Member, Since: r.Since, Leaders: r.Leaders, Ended: r.Ended})
	}
	slices.SortFunc(out, func(a, b state.Eviction) int { return cmp.Compare(a.StoreID, b.StoreID) })
	return out, nil
}
