// Package announce writes what happens to a cluster as Kubernetes Events on its TidbCluster, for "kubectl describe".
// Events are steps that were taken or failed, waits that a person ends, and the end. What is waited for and how far
// it has come is in the status.
//
// docs/events.md lists the reasons.
package announce

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

// Component is the source of our Kubernetes Events.
const Component = "kubectl-tidb"

// The reasons that are not the action of a step. They are a contract and may not change.
const (
	StepFailed    = "StepFailed"    // a step failed, and is tried again
	ObserveFailed = "ObserveFailed" // the cluster could not be observed
	Blocked       = "Blocked"       // manual action is required
	Converged     = "Converged"     // the cluster has converged
	Paused        = "Paused"        // the user has paused the cluster
	// A canary is what a person waits for, and decides about.
	CanaryHeld     = "CanaryHeld"     // a rollout has stopped at its canary
	CanaryPromoted = "CanaryPromoted" // a person has promoted the canary
)

const (
	// alike is how many events of a cluster with the same reason are written one by one
	// within alikeSeconds. Later ones become one that is counted.
	alike, alikeSeconds = 20, 600
	// burst and perSecond bound what is written of one cluster and one reason, so that
	// a repeated failure cannot hide all other events.
	burst     = 25
	perSecond = 1. / 60
	// longest is how many bytes of text the API server takes.
	longest = 1024
	// writeTimeout bounds one attempt to write an event.
	writeTimeout = 10 * time.Second
)

// Announcer writes Kubernetes Events. It never blocks: what the API server does
// not take in time is dropped.
type Announcer struct {
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
}

// New makes an announcer, as this instance of the component, a host or a pod.
// It works until ctx ends, or Close.
func New(ctx context.Context, kube kubernetes.Interface, instance string) *Announcer {
	b := record.NewBroadcaster(record.WithContext(ctx), record.WithCorrelatorOptions(record.CorrelatorOptions{
		MaxEvents: alike, MaxIntervalInSeconds: alikeSeconds, BurstSize: burst, QPS: perSecond, SpamKeyFunc: kind,
	}))
	b.StartRecordingToSink(sink{ctx, kube})
	return &Announcer{
		broadcaster: b,
		recorder:    b.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: Component, Host: instance}),
	}
}

// Close drops what has not been written yet.
func (a *Announcer) Close() { a.broadcaster.Shutdown() }

// kind returns the key by which events are counted for those bounds.
func kind(e *corev1.Event) string {
	return strings.Join([]string{string(e.InvolvedObject.UID), e.Type, e.Reason}, "/")
}

// Announce writes an event on a TidbCluster, if it is of a type that is announced.
func (a *Announcer) Announce(of corev1.ObjectReference, e event.Event) {
	if kind, reason, text := announcement(e); reason != "" {
		a.recorder.Event(&of, kind, reason, cut(text))
	}
}

// announcement returns an event in the terms of Kubernetes, with no reason if it is not
// announced.
func announcement(e event.Event) (kind, reason, text string) {
	switch e.Type {
	case event.Finished:
		return corev1.EventTypeNormal, e.Action, e.Step
	case event.Failed:
		reason := StepFailed
		if e.Action == "" {
			reason = ObserveFailed
		}
		return corev1.EventTypeWarning, reason, e.Step + ": " + e.Error
	case event.Blocked:
		return corev1.EventTypeWarning, Blocked, blocked(e)
	case event.Waiting, event.Passed:
		return canary(e)
	case event.Notice:
		if help := e.Help(); help != "" { // a person can do something
			return corev1.EventTypeWarning, e.Reason, e.Message + "; " + help
		}
	case event.Done:
		took := time.Duration(e.Seconds * float64(time.Second)).Round(time.Second)
		switch e.Outcome {
		case event.OutcomeConverged:
			return corev1.EventTypeNormal, Converged, fmt.Sprintf("the cluster has converged, after %s", took)
		case event.OutcomePaused:
			return corev1.EventTypeNormal, Paused, fmt.Sprintf("the cluster is paused, after %s of work; nothing is done until it is resumed", took)
		}
	}
	return "", "", ""
}

// canary returns the announcement of a rollout that stops at its canary, or goes on after it. Other waits are
// not announced.
func canary(e event.Event) (kind, reason, text string) {
	switch {
	case e.Reason != string(plan.CanaryPromoted) || e.Outcome == event.OutcomeDropped:
		return "", "", ""
	case e.Type == event.Passed:
		return corev1.EventTypeNormal, CanaryPromoted, e.Message
	}
	return corev1.EventTypeNormal, CanaryHeld, blocked(e)
}

// blocked returns the text about a gate that a person opens.
func blocked(e event.Event) string {
	if help := e.Help(); help != "" {
		return e.Message + "; " + help
	}
	return e.Message
}

// cut shortens a text to what the API server takes.
func cut(text string) string {
	if len(text) <= longest {
		return text
	}
	end := longest - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// sink writes to the API server. The sink of client-go has no timeout for a write, and all events
// wait for the one that is being written.
type sink struct {
	ctx  context.Context
	kube kubernetes.Interface
}

// Create implements record.EventSink.
func (s sink) Create(e *corev1.Event) (*corev1.Event, error) {
	ctx, cancel := context.WithTimeout(s.ctx, writeTimeout)
	defer cancel()
	return s.kube.CoreV1().Events(e.Namespace).Create(ctx, e, metav1.CreateOptions{})
}

// Patch implements record.EventSink.
func (s sink) Patch(e *corev1.Event, data []byte) (*corev1.Event, error) {
	ctx, cancel := context.WithTimeout(s.ctx, writeTimeout)
	defer cancel()
	return s.kube.CoreV1().Events(e.Namespace).Patch(ctx, e.Name, types.StrategicMergePatchType, data, metav1.PatchOptions{})
}

// Update implements record.EventSink.
func (sink) Update(*corev1.Event) (*corev1.Event, error) {
	return nil, errors.New("a bug: events are created and patched")
}
