package topology

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/pingcap/tidb-operator/pkg/apis/util/config"
)

// Settings returns the configuration of a component in the spec, with one key for each setting. It
// returns false for a component that has none, or more than one.
func Settings(tc *v1alpha1.TidbCluster, k Kind) (map[string]any, bool) {
	spec, ok := part(tc, k)
	if !ok || readingOf(k).noConfig == "{}" {
		return nil, false
	}
	if len(spec.configs) == 0 {
		return map[string]any{}, true
	}
	return Flat(spec.configs[0].Inner()), true
}

// Configured returns the configuration of a component with other settings, as text in TOML. A
// setting that is nil is removed.
func Configured(tc *v1alpha1.TidbCluster, k Kind, settings map[string]any) (string, error) {
	to := config.New(map[string]any{})
	if spec, ok := part(tc, k); ok && len(spec.configs) > 0 {
		to = spec.configs[0].DeepCopy()
	}
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if settings[key] == nil {
			to.Del(key)
			continue
		}
		path := strings.Split(key, ".")
		for n := range path {
			if at := to.Get(strings.Join(path[:n+1], ".")); at != nil {
				if _, table := at.Interface().(map[string]any); table != (n < len(path)-1) {
					return "", fmt.Errorf("%s: %s is a setting in one of them and a table in the other", key, strings.Join(path[:n+1], "."))
				}
			}
		}
		to.Set(key, settings[key])
	}
	text, err := to.MarshalTOML()
	return string(text), err
}

// SettingOf reads the value of a setting as TOML has it. What is no value in TOML, such as a size or
// a duration without quotes, is text.
func SettingOf(text string) any {
	one := config.New(map[string]any{})
	if err := one.UnmarshalTOML([]byte("v = " + text)); err == nil && len(one.Inner()) == 1 && one.Get("v") != nil {
		return one.Get("v").Interface()
	}
	return text
}

// size matches a size as TiKV and PD take and show it. Their KB is 1024 bytes, as is their KiB.
var size = regexp.MustCompile(`^([0-9.]+) ?([KMGTP]?)i?B$`)

// SameSetting reports whether two values of a setting mean the same. Members show some values in
// another form than the given form: 10m as 10m0s, 1GB as 1GiB, and a list as one text.
func SameSetting(a, b any) bool { return reflect.DeepEqual(meaning(a), meaning(b)) }

// meaning returns a number, a duration, or a text. A size is a number of bytes, because TiKV and PD
// take such a number as a size. A duration is no number, because neither of them takes a number as a
// duration.
func meaning(v any) any {
	switch v := v.(type) {
	case []any:
		words := make([]string, len(v))
		for i := range v {
			words[i] = fmt.Sprint(meaning(v[i]))
		}
		return strings.Join(words, ",")
	case bool:
		return strconv.FormatBool(v)
	case string:
		if d, err := time.ParseDuration(strings.ReplaceAll(v, " ", "")); err == nil {
			return orZero(d)
		}
		if m := size.FindStringSubmatch(v); m != nil {
			n, err := strconv.ParseFloat(m[1], 64)
			if err == nil {
				return n * float64(int64(1)<<(10*strings.Index(" KMGTP", m[2]+strings.Repeat(" ", 1-len(m[2])))))
			}
		}
		return asNumber(v, v)
	case nil:
		return ""
	}
	return asNumber(fmt.Sprint(v), v)
}

// orZero returns a duration, or the number 0: nothing is nothing in any unit.
func orZero(d time.Duration) any {
	if d == 0 {
		return 0.0
	}
	return d
}

// asNumber returns the number that a text is, else what it stands for: nan and inf are names.
func asNumber(text string, otherwise any) any {
	digits := strings.TrimLeft(text, "+-")
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !strings.ContainsAny(digits[:1], ".0123456789") {
		return otherwise
	}
	return n
}

// Mismatch returns why a running member cannot take another value for a setting, "" if it can. It
// knows only what the running settings show.
func Mismatch(key string, value any, running map[string]any) string {
	now, known := running[key]
	if !known {
		return fmt.Sprintf("%s is no setting that the members have", key)
	}
	kind := func(v any) string {
		switch v.(type) {
		case bool:
			return "true or false"
		case string:
			return "text"
		case []any:
			return "a list"
		case map[string]any:
			return "a table"
		case nil:
			return ""
		}
		return "a number"
	}
	is, wants := kind(value), kind(now)
	texts := wants == "text" && (is == "a number" || is == "a list" || is == "true or false") // PD writes these as text
	if is == "" || wants == "" || is == wants || texts {
		return ""
	}
	return fmt.Sprintf("%s is %s (%v), and not %s", key, wants, now, is)
}
