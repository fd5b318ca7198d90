package ask

import (
	"net/http"
	"strings"
	"testing"
)

// TestWords: a message is one line that can be printed, and no longer than a person reads.
func TestWords(t *testing.T) {
	for message, want := range map[string]string{
		"":                             "",
		" store 4 not found \n":        "store 4 not found",
		"one\ntwo":                     "one",
		"a\x1b[31mb\u009bc\u202ed\x07": "a\uFFFD[31mb\uFFFDc\uFFFDd\uFFFD",
		strings.Repeat("ü", 201):       strings.Repeat("ü", 200) + "…",
		strings.Repeat("x", 200):       strings.Repeat("x", 200),
	} {
		if got := Words(message); got != want {
			t.Errorf("%q: %q", message, got)
		}
	}
}

// TestOnlyMessages: of a body only a message of the shape that the component has is shown.
func TestOnlyMessages(t *testing.T) {
	for body, want := range map[string]string{
		`{"error_msg":"no such capture","error_code":"CDC:x"}`: "no such capture",
		`{"error_msg":{"a":"token=abc"}}`:                      "",
		`{"errors":["permission denied token=abc"]}`:           "",
		`token=abc`: "",
		``:          "",
		`null`:      "",
	} {
		if got := Message([]byte(body), "error_msg"); got != want {
			t.Errorf("%s: %q", body, got)
		}
	}
	for body, want := range map[string]string{
		`"config item not found"`:      "config item not found",
		`failed to update, error: "x"`: `failed to update, error: "x"`,
		`<html>token=abc</html>`:       "",
		`{"a":"token=abc"}`:            "",
	} {
		if got := Text([]byte(body), "failed to "); got != want {
			t.Errorf("%s: %q", body, got)
		}
	}
	if got := With("403 Forbidden", ""); got != "403 Forbidden" {
		t.Error(got)
	}
	if got := status(http.StatusTeapot) + "|" + status(599); got != "418 I'm a teapot|599" {
		t.Error(got)
	}
}
