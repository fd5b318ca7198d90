package ask

import (
	"encoding/json"
	"strings"
	"unicode"
)

// longest is how many characters of a member's message are shown.
const longest = 200

// Words returns the message of a member in an error, fit to be shown. That is its first line, cut off at 200
// characters, without what cannot be printed. Errors become Kubernetes Events, which other people read than those
// who may ask the member.
func Words(message string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	var kept strings.Builder
	n := 0
	for _, r := range line {
		if n == longest {
			kept.WriteRune('…')
			break
		}
		if !unicode.IsPrint(r) {
			r = '\uFFFD'
		}
		kept.WriteRune(r)
		n++
	}
	return strings.TrimSpace(kept.String())
}

// Message returns the message in an answer that is a JSON object with such a field. Message returns "" for an answer
// of any other kind. The body itself is never part of an error: it may be the page of something that is no member.
func Message(body []byte, field string) string {
	var answer map[string]any
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	text, _ := answer[field].(string)
	return Words(text)
}

// Text returns the message in an answer that is a JSON string. It also takes a plain text that begins with one of
// the known texts of the component. It is "" for an answer of any other kind.
func Text(body []byte, known ...string) string {
	var text string
	if json.Unmarshal(body, &text) == nil {
		return Words(text)
	}
	text = strings.TrimSpace(string(body))
	for _, begins := range known {
		if strings.HasPrefix(text, begins) {
			return Words(text)
		}
	}
	return ""
}

// With returns a status with the message of a member, if there is one.
func With(status, message string) string {
	if message == "" {
		return status
	}
	return status + ": " + message
}
