package main

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// The log container gets the command that tidb-operator v1.6.5 writes, and no other container changes.
func TestOperatorsCommand(t *testing.T) {
	spec := func(containers ...corev1.Container) *appsv1.StatefulSetSpec {
		var s appsv1.StatefulSetSpec
		s.Template.Spec.Containers = containers
		return &s
	}
	main := corev1.Container{Name: "tidb", Command: []string{"sh", "-c", "touch /x"}}
	const ours = "trap 'exit 0' TERM; touch /var/log/tidb/slowlog; tail -n0 -F /var/log/tidb/slowlog & wait"
	s := spec(corev1.Container{Name: "slowlog", Command: []string{"sh", "-c", ours}}, main)
	if !operatorsCommand(s) {
		t.Fatal("it does not find the log container")
	}
	got := s.Template.Spec.Containers
	want := []string{"sh", "-c", "touch /var/log/tidb/slowlog; tail -n0 -F /var/log/tidb/slowlog;"}
	if !slices.Equal(got[0].Command, want) {
		t.Errorf("got %q, want %q", got[0].Command, want)
	}
	if !slices.Equal(got[1].Command, main.Command) {
		t.Errorf("another container has changed: %q", got[1].Command)
	}
	if operatorsCommand(spec(main)) {
		t.Error("it finds a log container where there is none")
	}
}
