package pd

import (
	"encoding/json"
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ask"
)

// How many of a kind PD may report. These are several times what the largest known clusters have.
const (
	maxStores  = 20_000
	maxMembers = 100
	maxRules   = 10_000
)

// limits are the limits of answers that grow with the cluster, by the path. A store has about five labels and eighty
// keys, and takes two kilobytes; a rule has three conditions with their values.
var limits = map[string]ask.Limits{
	pathStores:                    {Bytes: 64 << 20, Elements: 20 * maxStores, Keys: 200 * maxStores},
	pathRuleBundle:                {Bytes: 16 << 20, Elements: 20 * maxRules, Keys: 50 * maxRules},
	pathScheduleConfig:            {Bytes: 4 << 20, Elements: 1000, Keys: 5 * maxStores}, // a limit for each store
	pathMetrics:                   {Bytes: ask.PageBytes},
	etcdVersions[0] + "/kv/range": {Bytes: 4 << 20, Elements: 10_000, Keys: 100_000},
	etcdVersions[1] + "/kv/range": {Bytes: 4 << 20, Elements: 10_000, Keys: 100_000},
}

func limitsOf(path string) ask.Limits {
	if l, ok := limits[path]; ok {
		return l
	}
	return ask.Small
}

// atMost returns an error for a list that is longer than PD may report.
func atMost(most, n int, what string) error {
	if n > most {
		return fmt.Errorf("%w: it has more than %d %s", ask.ErrTooLarge, most, what)
	}
	return nil
}

// storeList is a list of stores, which is decoded one by one.
type storeList []Store

// decode implements streamed.
func (l *storeList) decode(from *json.Decoder) error {
	*l = storeList{}
	return object(from, func(key string) error {
		if key != "stores" {
			var skipped json.RawMessage
			return from.Decode(&skipped)
		}
		return list(from, func() error {
			var one storeInfo
			if err := from.Decode(&one); err != nil {
				return err
			}
			*l = append(*l, *storeOf(&one))
			return atMost(maxStores, len(*l), "stores")
		})
	})
}

// object reads an object. The function reads the value of each key.
func object(from *json.Decoder, value func(key string) error) error {
	if open, err := from.Token(); err != nil || open != json.Delim('{') {
		return unexpected(open, err)
	}
	for from.More() {
		key, err := from.Token()
		if err != nil {
			return err
		}
		if err := value(fmt.Sprint(key)); err != nil {
			return err
		}
	}
	_, err := from.Token()
	return err
}

// list reads a list, or null. The function reads each element.
func list(from *json.Decoder, element func() error) error {
	open, err := from.Token()
	if err == nil && open == nil {
		return nil
	}
	if err != nil || open != json.Delim('[') {
		return unexpected(open, err)
	}
	for from.More() {
		if err := element(); err != nil {
			return err
		}
	}
	_, err = from.Token()
	return err
}

func unexpected(got json.Token, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("a %T is not what was expected there", got)
}
