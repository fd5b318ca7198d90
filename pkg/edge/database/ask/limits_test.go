package ask

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// many returns a list of n elements.
func many(element string, n int) string {
	return "[" + strings.Repeat(element+",", n-1) + element + "]"
}

// TestLimits: an answer fails before it is decoded where it has more bytes, elements or keys than it may have. What is
// in a string counts only in bytes.
func TestLimits(t *testing.T) {
	limits := Limits{Bytes: 1000, Elements: 10, Keys: 5}
	for text, fits := range map[string]bool{
		`{}`:                                 true,
		`null`:                               true,
		`7`:                                  true,
		`[]`:                                 true,
		`[ ]`:                                true,
		many("{}", 10):                       true,
		many("{}", 11):                       false,
		many(" {} \n", 11):                   false,
		"[" + many("1", 8) + ",2]":           true,
		"[" + many("1", 9) + ",2]":           false,
		"[" + many("[]", 10) + "]":           false,
		`{"a":1,"b":{"c":2,"d":[3],"e":""}}`: true,
		`{"a":1,"b":{"c":2,"d":[3],"e":{"f":0}}}`:    false,
		`["` + strings.Repeat(`,[{:`, 100) + `"]`:    true,
		`["\"` + strings.Repeat(`,`, 100) + `\\",1]`: true,
		`["` + strings.Repeat(`x`, 1000) + `"]`:      false,
		strings.Repeat("[", deepest+1):               false,
	} {
		var out any
		err := Decode(t.Context(), strings.NewReader(text), limits, &out)
		if (err == nil) != fits || !fits && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%.60s: %v", text, err)
		}
		if err := Unmarshal(t.Context(), []byte(text), limits, &out); (err == nil) != fits || !fits && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%.60s, read before: %v", text, err)
		}
	}
	var out any
	for _, text := range []string{"", "{", "]", "}}", `{}{}`, `"`, "[,]"} {
		if err := Decode(t.Context(), strings.NewReader(text), limits, &out); err == nil || errors.Is(err, ErrTooLarge) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestDecodedAtOnce: only some large answers are decoded at the same time, and one that has no place ends with its
// context. Small ones need no place.
func TestDecodedAtOnce(t *testing.T) {
	for range cap(decoding) {
		decoding <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out any
	large := `"` + strings.Repeat("x", smallAnswer) + `"`
	if err := Decode(ctx, strings.NewReader(large), Small, &out); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := Decode(ctx, strings.NewReader(`{"a":1}`), Small, &out); err != nil {
		t.Errorf("a small one: %v", err)
	}
	for range cap(decoding) {
		<-decoding
	}
	if err := Decode(ctx, strings.NewReader(large), Small, &out); err != nil && !errors.Is(err, context.Canceled) || len(decoding) != 0 {
		t.Errorf("%v, %d places are taken", err, len(decoding))
	}
}
