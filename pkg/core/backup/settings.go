package backup

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Settings are the settings of PD that BR changes while it restores, as they were before. A BR that is killed leaves PD
// without the schedulers and with other numbers. The next BR takes these for the settings of the user, so that they would
// stay for ever.
type Settings struct {
	Restore    string             `json:"restore"` // the name of the restore that puts them back at its end
	Since      time.Time          `json:"since"`
	Cluster    uint64             `json:"cluster,string"` // the id of PD's cluster
	Schedulers []string           `json:"schedulers"`
	Numbers    map[string]float64 `json:"numbers"`
}

// removed are the schedulers that BR removes. None of them needs arguments.
var removed = []string{
	"balance-hot-region-scheduler", "balance-leader-scheduler", "balance-region-scheduler",
	"shuffle-hot-region-scheduler", "shuffle-leader-scheduler", "shuffle-region-scheduler",
}

// Changed are the numbers of PD's schedule configuration that BR changes.
var Changed = slices.Concat(limits, merges)

var (
	// limits are multiplied by the number of stores, up to highest.
	limits = []string{"leader-schedule-limit", "max-snapshot-count", "region-schedule-limit"}
	// merges are set to zero.
	merges = []string{"max-merge-region-keys", "max-merge-region-size"}
)

// highest is the highest limit that BR sets.
const highest = 40

// SettingsOf returns the settings that a TidbCluster records; not ok where it records none.
func SettingsOf(tc *v1alpha1.TidbCluster) (s Settings, ok bool, err error) {
	text, ok := tc.Annotations[topology.AnnotationRestore]
	if !ok {
		return Settings{}, false, nil
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return Settings{}, false, fmt.Errorf("annotation %s of tidbcluster %s/%s cannot be read: %w", topology.AnnotationRestore, tc.Namespace, tc.Name, err)
	}
	return s, true, nil
}

// Text is the annotation.
func (s Settings) Text() (string, error) {
	s.Since = s.Since.UTC().Truncate(time.Second)
	text, err := json.Marshal(s)
	return string(text), err
}

// Lost returns which schedulers of before do not run now, and which numbers BR may have changed, with their values from
// before. A number that BR cannot have set was changed by somebody else, and stays.
func (s Settings) Lost(now Settings) (schedulers []string, numbers map[string]float64) {
	for _, name := range removed {
		if slices.Contains(s.Schedulers, name) && !slices.Contains(now.Schedulers, name) {
			schedulers = append(schedulers, name)
		}
	}
	numbers = maps.Clone(s.Numbers)
	maps.DeleteFunc(numbers, func(key string, before float64) bool {
		is, known := now.Numbers[key]
		byBR := slices.Contains(limits, key) && is <= highest || slices.Contains(merges, key) && is < before
		return !known || is == before || !byBR
	})
	return schedulers, numbers
}
