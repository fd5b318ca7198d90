package bundle

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// shortest is the length of the shortest value that is taken out of files. Shorter values are parts of other words.
const shortest = 6

// Hide takes the values of a Secret out of all files that are added from now on.
func (b *Bundle) Hide(data map[string][]byte) {
	for _, value := range data {
		for _, text := range append(strings.Split(string(value), "\n"), string(value), base64.StdEncoding.EncodeToString(value)) {
			if text = strings.TrimSpace(text); len(text) >= shortest && !strings.HasPrefix(text, "-----") {
				b.hidden = append(b.hidden, forms(text)...)
			}
		}
	}
	// The longest come first: a value that is a part of another one would leave the rest of that one.
	slices.SortFunc(b.hidden, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	b.hidden = slices.Compact(b.hidden)
}

// forms returns a value as texts have it: as it is, in JSON, and in a URL.
func forms(text string) []string {
	all := []string{text, url.QueryEscape(text), url.PathEscape(text)}
	for _, html := range []bool{true, false} {
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(html)
		if err := e.Encode(text); err == nil {
			all = append(all, strings.Trim(strings.TrimSpace(out.String()), `"`))
		}
	}
	return all
}

// removed stands for a value that was taken out.
const removed = "REMOVED"

func (b *Bundle) clean(text string) string {
	for _, h := range b.hidden {
		text = strings.ReplaceAll(text, h, removed)
	}
	return text
}

// cleanAll takes hidden values out of the texts of a value that JSON was decoded to. It is done before
// YAML is made of them: YAML has other escapes, and breaks long lines.
func (b *Bundle) cleanAll(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for k, inner := range v {
			v[k] = b.cleanAll(inner)
		}
	case []any:
		for i := range v {
			v[i] = b.cleanAll(v[i])
		}
	case string:
		return b.clean(v)
	}
	return value
}

const (
	// confidential matches the name of a secret.
	confidential = `[\w.-]*` + topology.ConfidentialWords + `[\w.-]*`
	// quoted is a text in quotation marks, with escapes in it.
	quoted = `"(?:[^"\\]|\\.)*"|'[^']*'`
)

// assigned match what gives a secret a value in a text. That is the rest of a line that begins with the secret's
// name, name = value, and "name": "value". The last expression is for "name": "value" in JSON that is itself a text
// in JSON.
var assigned = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^(\s*"?` + confidential + `"?\s*[=:]\s*)\S.*()$`),
	regexp.MustCompile(`("?` + confidential + `"?\s*=\s*)(?:` + quoted + `|[^\s=,"'{}\[\]][^\s,"'{}\[\]]*)()`),
	regexp.MustCompile(`("` + confidential + `"\s*:\s*)(?:` + quoted + `)()`),
	regexp.MustCompile(`(\\+"` + confidential + `\\+"\s*:\s*)\\+".*?\\+"(\s*(?:[,}\]]|$))`),
}

// tidy removes from an object what must not be in the archive, and what nobody reads there.
func tidy(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if name, ok := v["name"].(string); ok && topology.Confidential(name) && v["value"] != nil {
			v["value"] = removed // of an environment variable
		}
		for k, inner := range v {
			if isLeftOut(k) {
				delete(v, k)
				continue
			}
			if _, text := inner.(string); text && topology.Confidential(k) && !naming.MatchString(k) {
				inner = removed
			}
			v[k] = tidy(inner)
		}
	case []any:
		for i := range v {
			v[i] = tidy(v[i])
		}
	case string:
		for _, a := range assigned {
			v = a.ReplaceAllString(v, "${1}"+removed+"${2}")
		}
		return v
	}
	return value
}

// naming matches fields that say where a secret is, such as secretName.
var naming = regexp.MustCompile(`(?i)(name|namespace|file|path)$`)

// isLeftOut reports whether a field is left out. Such a field is what tools keep about an object for themselves, or a
// spec of before, which is JSON in a text.
func isLeftOut(field string) bool {
	return field == "managedFields" || field == topology.AnnotationLastChange || strings.HasSuffix(field, "last-applied-configuration")
}
