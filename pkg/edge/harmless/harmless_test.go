package harmless

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const evil = "a\x1b]0;T\x07\x1b[31mR\u202eB\u2066I\u009bC\u0085D\x7fE\ufffeF\ufeffG\u2028H\U000e0001I\ufdd0J"

func TestLine(t *testing.T) {
	if got, want := Line("a\nb\r\x1b[31m\u202ec\u009bd  e"), "a b  [31m\ufffdc d  e"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestDocuments: what is read again is what was written, and no hidden character is in the text.
func TestDocuments(t *testing.T) {
	value := map[string]any{"k": evil, "other\u009b": []any{"ü", "日本"}}
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	text, err := YAML(value)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		text   []byte
		read   func([]byte, any) error
		hidden func(rune) bool
	}{
		"json": {JSON(raw), json.Unmarshal, hidden},
		"yaml": {text, func(b []byte, v any) error { return yaml.Unmarshal(b, v) }, hidden},
	} {
		var got map[string]any
		if err := tt.read(tt.text, &got); err != nil || !reflect.DeepEqual(got, value) {
			t.Errorf("%s: %v, %q from %q", name, err, got, tt.text)
		}
		if strings.ContainsFunc(strings.ReplaceAll(string(tt.text), "\n", ""), tt.hidden) {
			t.Errorf("%s has hidden characters: %q", name, tt.text)
		}
	}
	if !strings.Contains(string(JSON(raw)), `\u009b`) {
		t.Error("C1 is not escaped")
	}
}
