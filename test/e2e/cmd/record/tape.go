package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"
	"unicode/utf8"
)

// tape is what a terminal has shown, as script of util-linux writes it: the text, and for each piece
// of it the seconds since the one before and its length in bytes.
type tape struct {
	text, times   string
	columns, rows int
}

// still is how long the picture stays the same: what the spinner draws in between is left out, or
// the picture would be some megabytes.
const still = time.Second

// cast writes it in the second version of asciinema's format.
func (t tape) cast(to string) error {
	text, err := os.ReadFile(t.text)
	if err != nil {
		return err
	}
	times, err := os.ReadFile(t.times)
	if err != nil {
		return err
	}
	if i := bytes.IndexByte(text, '\n'); bytes.HasPrefix(text, []byte("Script started")) && i >= 0 {
		text = text[i+1:]
	}
	var out bytes.Buffer
	line := json.NewEncoder(&out)
	if err := line.Encode(map[string]int{"version": 2, "width": t.columns, "height": t.rows}); err != nil {
		return err
	}
	at, shown, piece := 0., -still.Seconds(), ""
	for lines := bufio.NewScanner(bytes.NewReader(times)); lines.Scan(); {
		var pause float64
		var n int
		if _, err := fmt.Sscan(lines.Text(), &pause, &n); err != nil || n > len(text) {
			return fmt.Errorf("read %s: %q: %w", t.times, lines.Text(), err)
		}
		if at += pause; at-shown >= still.Seconds() && piece != "" && utf8.ValidString(piece) {
			if err := line.Encode([]any{shown, "o", piece}); err != nil {
				return err
			}
			piece = ""
		}
		if piece == "" {
			shown = at
		}
		piece, text = piece+string(text[:n]), text[n:]
	}
	if err := line.Encode([]any{shown, "o", piece}); err != nil {
		return err
	}
	return os.WriteFile(to, out.Bytes(), 0o600)
}
