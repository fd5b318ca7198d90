package main

import (
	"fmt"
	"testing"
)

func TestAscending(t *testing.T) {
	keys := [][]byte{[]byte("c"), []byte("a"), []byte("c"), []byte("b"), []byte("a")}
	if got := fmt.Sprintf("%s", ascending(keys)); got != "[a b c]" {
		t.Errorf("got %s", got)
	}
	if string(keys[0]) != "c" {
		t.Error("the keys of the request have changed")
	}
}
