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
// without the schedulers and with the lower numbers. The next restore takes these for the settings of the user, so that
// they would stay for ever.
type Settings struct {
	Since      time.Time          `json:"since"`
	Cluster    uint64             `json:"cluster,string"` // the id of PD's cluster
	Schedulers []string           `json:"schedulers"`
	Numbers    map[string]float64 `json:"numbers"`
}

// Removed are the schedulers that BR removes. None of them needs arguments.
var removed = []string{
	"balance-hot-region-scheduler", "balance-leader-scheduler", "balance-region-scheduler",
	"shuffle-hot-region-scheduler", "shuffle-leader-scheduler", "shuffle-region-scheduler",
}

// Lowered are the numbers of PD's schedule configuration that BR sets lower, or to zero.
var Lowered = []string{
	"leader-schedule-limit", "max-merge-region-keys", "max-merge-region-size", "max-snapshot-count", "region-schedule-limit",
}

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

// Lost returns which schedulers of before do not run now, and which numbers are lower now, with their values from before. A
// number that is higher now was changed by somebody else, because BR only lowers numbers.
func (s Settings) Lost(now Settings) (schedulers []string, numbers map[string]float64) {
	for _, name := range removed {
		if slices.Contains(s.Schedulers, name) && !slices.Contains(now.Schedulers, name) {
			schedulers = append(schedulers, name)
		}
	}
	numbers = maps.Clone(s.Numbers)
	maps.DeleteFunc(numbers, func(key string, before float64) bool {
		is, known := now.Numbers[key]
		return !slices.Contains(Lowered, key) || !known || is >= before
	})
	return schedulers, numbers
}
