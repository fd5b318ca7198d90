package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestCommand(t *testing.T) {
	const line = "tool {operation} -n {namespace} {cluster} --version {version} tikv={tikv} ${HOME} {other}"
	var got []string
	for _, op := range operations {
		got = append(got, op.command(line, "there"))
	}
	want := []string{
		"tool create -n there basic --version v8.1.0 tikv=3 ${HOME} {other}",
		"tool scale-out -n there basic --version v8.1.0 tikv=4 ${HOME} {other}",
		"tool scale-in -n there basic --version v8.1.0 tikv=3 ${HOME} {other}",
		"tool upgrade -n there basic --version v8.1.1 tikv=3 ${HOME} {other}",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, name := range strings.Fields(placeholders) {
		if strings.Contains(operations[0].command(name, "there"), "{") {
			t.Errorf("%s stays as it is", name)
		}
	}
}

func TestByCommand(t *testing.T) {
	dir := t.TempDir()
	drive := byCommand("echo {namespace} $KUBECONFIG > said; pwd >> said; exit {tikv}", dir, "/the/kubeconfig", "there")
	_, err := drive(t.Context(), operation{tikv: 3})
	if err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("%v, want exit status 3", err)
	}
	said, err := os.ReadFile(filepath.Join(dir, "said"))
	if want := "there /the/kubeconfig\n" + dir + "\n"; err != nil || string(said) != want {
		t.Errorf("%q %v, want %q", said, err, want)
	}
	m, err := byCommand("true", dir, "", "")(t.Context(), operation{})
	if err != nil || m.wall <= 0 {
		t.Errorf("%v %v, want a wall", m, err)
	}
	_, err = byCommand("echo on stdout; echo on stderr >&2; false", dir, "", "")(t.Context(), operation{})
	if err == nil || !strings.Contains(err.Error(), "on stdout\non stderr\n") {
		t.Errorf("%v, want the output", err)
	}
}

// What the shell has started ends with it, or it would hold the output open, and drive on.
func TestByCommandIsEnded(t *testing.T) {
	dir := t.TempDir()
	begun := filepath.Join(dir, "begun")
	if err := syscall.Mkfifo(begun, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = os.ReadFile(begun) // ends when the command has written
		cancel()
	}()
	_, err := byCommand("sh -c 'echo > begun; sleep 3600'; true", dir, "", "")(ctx, operation{})
	if err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("%v, want that it was cancelled", err)
	}
}

// A child that outlives the shell neither keeps the bench waiting nor stays: its end of the pipe closes.
func TestByCommandLeavesNobody(t *testing.T) {
	dir := t.TempDir()
	held := filepath.Join(dir, "held")
	if err := syscall.Mkfifo(held, 0o600); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error)
	go func() {
		_, err := os.ReadFile(held)
		gone <- err
	}()
	m, err := byCommand("sleep 3600 3> held &", dir, "", "")(t.Context(), operation{})
	if err != nil || m.wall <= 0 {
		t.Errorf("%v %v", m, err)
	}
	if err := <-gone; err != nil {
		t.Error(err)
	}
}
