package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNotices: the modules of the program are all there, those of one platform as well, each with its licence.
func TestNotices(t *testing.T) {
	file := filepath.Join(t.TempDir(), "NOTICES")
	if err := write("../../..", "./cmd/kubectl-tidb", file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"\nk8s.io/client-go v", "\ngithub.com/pingcap/tidb-operator/pkg/apis v", "\ngolang.org/x/net v", "\ngithub.com/spf13/cobra v", "\nThe standard library of Go go",
		"Apache License", "Permission is hereby granted", "Redistribution and use in source and binary forms",
	} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%q is not in it", part)
		}
	}
	if strings.Contains(string(text), "github.com/goreleaser") {
		t.Error("it has modules that are not linked")
	}
}

// TestNoLicence: a module that says nothing about its licence is an error that names it.
func TestNoLicence(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"license.go": "package x", "README.md": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := notices([]module{{"example.org/x v1", dir}}); err == nil || !strings.Contains(err.Error(), "example.org/x v1: no licence") {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "LICENSE-MIT"), []byte("free\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := notices([]module{{"example.org/x v1", dir}, {"example.org/y v2", dir}})
	if err != nil || !strings.HasSuffix(string(text), "\nexample.org/x v1\nexample.org/y v2\n\nfree\n") {
		t.Errorf("%v, %q", err, text)
	}
}
