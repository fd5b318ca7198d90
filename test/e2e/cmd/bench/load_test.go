package main

import (
	"os"
	"strings"
	"testing"
)

// TestMain has the test's own program spin, as the bench does.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == spinFlag {
		spin(os.Stdin)
		return
	}
	os.Exit(m.Run())
}

// TestLoad: the processes run until they are ended, and end without an error.
func TestLoad(t *testing.T) {
	end, err := load(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

func TestLoadThatCannotStart(t *testing.T) {
	if _, err := start(t.Context(), 2, "/nowhere"); err == nil || !strings.Contains(err.Error(), "uses up a processor") {
		t.Errorf("%v", err)
	}
}
