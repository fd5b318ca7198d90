package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/util/config"
	"github.com/pingcap/tidb-operator/pkg/apis/util/toml"
)

// setting is a key of a configuration, as a dotted path, with a value. The cluster needs that
// value, whatever the user has written.
type setting struct {
	key   string
	value any
}

// withKeys returns a copy of the user's configuration with the forced keys.
func withKeys(user *config.GenericConfig, forced ...setting) (*config.GenericConfig, error) {
	result := user.DeepCopy()
	for _, s := range forced {
		if err := set(result.MP, s.key, s.value); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// set is like the API module's Set, which panics where a user's value is in the place of a table.
func set(table map[string]any, key string, value any) error {
	path := strings.Split(key, ".")
	for i, name := range path[:len(path)-1] {
		next, ok := table[name]
		if !ok {
			next = map[string]any{}
			table[name] = next
		}
		if table, ok = next.(map[string]any); !ok {
			return fmt.Errorf("config key %s is not a table", strings.Join(path[:i+1], "."))
		}
	}
	table[path[len(path)-1]] = value
	return nil
}

// bareNumbers writes two durations of TiKV as bare numbers where the user gave a whole number only.
// The number may have a sign. Older releases know these durations as numbers of milliseconds.
func bareNumbers(user *config.GenericConfig) *config.GenericConfig {
	result := user.DeepCopy()
	txn, ok := result.MP["pessimistic-txn"].(map[string]any)
	if !ok {
		return result
	}
	for _, key := range []string{"wait-for-lock-timeout", "wake-up-delay-duration"} {
		text, ok := txn[key].(string)
		if !ok {
			continue
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			txn[key] = n
		}
	}
	return result
}

// encode writes a configuration in the operator's format: tables indented by
// two blanks, keys in order.
func encode(c *config.GenericConfig) (string, error) {
	text, err := c.MarshalTOML()
	if err != nil {
		return "", fmt.Errorf("encode the config: %w", err)
	}
	return string(text), nil
}

// sameTOML reports whether two configurations mean the same. Text that cannot be read differs from
// everything.
func sameTOML(a, b string) bool {
	if a == b {
		return true
	}
	equal, err := toml.Equal([]byte(a), []byte(b))
	return err == nil && equal
}
