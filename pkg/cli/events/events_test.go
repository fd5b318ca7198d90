package events

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	kubectl "k8s.io/kubectl/pkg/cmd/events"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// event returns an event about an object, as old as age.
func event(name, kind, object, reason, message string, age time.Duration) *corev1.Event {
	at := metav1.NewTime(time.Now().Add(-age))
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "db", Name: name, UID: types.UID(name), ResourceVersion: "1"},
		InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: "db", Name: object},
		Type:           corev1.EventTypeWarning, Reason: reason, Message: message, FirstTimestamp: at, LastTimestamp: at,
	}
}

func all() []runtime.Object {
	return []runtime.Object{
		event("e1", "Pod", "basic-tikv-0", "BackOff", "Back-off restarting failed container", 10*time.Minute),
		event("e2", "Pod", "basic-tikv-1", "Unhealthy", "Readiness probe failed", 9*time.Minute),
		event("e3", "TidbCluster", "basic", "Blocked", "basic-tikv-0 not serving", 8*time.Minute),
		event("e4", "StatefulSet", "basic-tikv", "SuccessfulCreate", "create Pod basic-tikv-0", 7*time.Minute),
		event("e5", "PersistentVolumeClaim", "tikv-basic-tikv-0", "ProvisioningFailed", "no space", 6*time.Minute),
		event("e6", "PersistentVolumeClaim", "tikv-raft-basic-tikv-1", "Resizing", "to 2Gi", 5*time.Minute),
		// Again, later: only this one counts.
		event("e7", "Pod", "basic-tikv-0", "BackOff", "Back-off restarting failed container", 2*time.Minute),
		event("o1", "Pod", "other-tikv-0", "BackOff", "of another cluster", time.Minute),
		event("o2", "Pod", "basic-tikv-x", "BackOff", "of no member", time.Minute),
		event("o3", "TidbCluster", "other", "Blocked", "another cluster", time.Minute),
		event("o4", "PersistentVolumeClaim", "tikv-other-tikv-0", "Resizing", "another cluster", time.Minute),
		event("o5", "StatefulSet", "basic-web", "SuccessfulCreate", "no component", time.Minute),
	}
}

func made(o options, objects ...runtime.Object) (*printer, *fake.Clientset, *bytes.Buffer) {
	var out bytes.Buffer
	kube := fake.NewClientset(objects...)
	return &printer{
		Factory: &factory.Factory{Streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}}, options: o,
		cluster: topology.Cluster{Namespace: "db", Name: "basic"}, events: kube.CoreV1().Events("db"),
		rows: kubectl.NewEventPrinter(false, false), seen: map[string]string{},
	}, kube, &out
}

const screen = `LAST SEEN   TYPE      REASON               OBJECT                                         MESSAGE
9m          Warning   Unhealthy            Pod/basic-tikv-1                               Readiness probe failed
8m          Warning   Blocked              TidbCluster/basic                              basic-tikv-0 not serving
7m          Warning   SuccessfulCreate     StatefulSet/basic-tikv                         create Pod basic-tikv-0
6m          Warning   ProvisioningFailed   PersistentVolumeClaim/tikv-basic-tikv-0        no space
5m          Warning   Resizing             PersistentVolumeClaim/tikv-raft-basic-tikv-1   to 2Gi
2m          Warning   BackOff              Pod/basic-tikv-0                               Back-off restarting failed container
`

func TestPrint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _, out := made(options{}, all()...)
		if err := p.print(t.Context()); err != nil || out.String() != screen {
			t.Errorf("%v\n%s", err, out.String())
		}
	})
}

// TestMembers: only the events of what is named are printed.
func TestMembers(t *testing.T) {
	for _, tt := range []struct {
		members []string
		want    string // the reasons
	}{
		{[]string{"tikv-0"}, "ProvisioningFailed BackOff"},
		{[]string{"basic-tikv-1"}, "Unhealthy Resizing"},
		{[]string{"tikv"}, "Unhealthy SuccessfulCreate ProvisioningFailed Resizing BackOff"},
		{[]string{"tikv-0", "tikv-1"}, "Unhealthy ProvisioningFailed Resizing BackOff"},
	} {
		p, _, _ := made(options{members: tt.members}, all()...)
		found, _, err := p.list(t.Context())
		var got []string
		for _, e := range found {
			got = append(got, e.Reason)
		}
		if err != nil || strings.Join(got, " ") != tt.want {
			t.Errorf("%v: %v, %v", tt.members, got, err)
		}
	}
	p, _, out := made(options{members: []string{"pd"}}, all()...)
	if err := p.print(t.Context()); err != nil || out.String() != "No events found for cluster db/basic.\n" {
		t.Errorf("%v: %q", err, out.String())
	}
}

// formatted returns options with a format of -o.
func formatted(t *testing.T, format string) options {
	t.Helper()
	var o options
	cmd := &cobra.Command{}
	o.output.Bind(cmd)
	if err := errors.Join(cmd.ParseFlags([]string{"-o", format}), o.output.Validate()); err != nil {
		t.Fatal(err)
	}
	return o
}

const document = `apiVersion: kubectl-tidb/v1
items:
- apiVersion: kubectl-tidb/v1
  cluster: basic
  count: 1
  kind: EventSummary
  lastSeen: "1999-12-31T23:51:00Z"
  message: Readiness probe failed
  metadata:
    name: basic
    namespace: db
  namespace: db
  object:
    kind: Pod
    name: basic-tikv-1
  reason: Unhealthy
  type: Warning
kind: EventSummaryList
`

// TestFormats: programs get a list of documents, which is empty where there are no events, and with
// -w one document after another.
func TestFormats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // so that the time is the same each time
		p, _, out := made(formatted(t, "yaml"), event("e2", "Pod", "basic-tikv-1", "Unhealthy", "Readiness probe failed", 9*time.Minute))
		if err := p.print(t.Context()); err != nil || out.String() != document {
			t.Errorf("%v\n%s", err, out.String())
		}
		again := event("e8", "Pod", "basic-tikv-1", "BackOff", "again", time.Minute)
		again.Count = 7
		p, _, out = made(formatted(t, "jsonpath={range .items[*]}{.reason} {.count};{end}"), append(all(), again)...)
		if err := p.print(t.Context()); err != nil ||
			out.String() != "Unhealthy 1;Blocked 1;SuccessfulCreate 1;ProvisioningFailed 1;Resizing 1;BackOff 1;BackOff 7;" {
			t.Errorf("%v\n%s", err, out.String())
		}
	})
	p, _, out := made(formatted(t, "json"))
	if err := p.print(t.Context()); err != nil || !strings.Contains(out.String(), `"items": []`) {
		t.Errorf("%v\n%s", err, out.String())
	}
	o := formatted(t, "jsonpath={.kind} {.reason};")
	o.watch = true
	p, _, out = made(o)
	first := event("e1", "Pod", "basic-tikv-0", "BackOff", "first", time.Minute)
	series := event("e2", "Pod", "basic-tikv-0", "Pulled", "second", 0)
	series.Series = &corev1.EventSeries{Count: 3}
	for range 2 { // the second time they are not new
		if err := p.show([]corev1.Event{*first, *series}); err != nil {
			t.Error(err)
		}
	}
	if out.String() != "EventSummary BackOff;EventSummary Pulled;" || times(series) != 3 {
		t.Errorf("%s", out.String())
	}
}

// TestWatch: new events are printed once, also after a watch has ended, until the command is
// interrupted.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, kube, out := made(options{watch: true}, event("e1", "Pod", "basic-tikv-0", "BackOff", "first", time.Minute))
		watches := make(chan *watch.FakeWatcher, 3)
		for range 3 {
			watches <- watch.NewFake()
		}
		used := make(chan *watch.FakeWatcher, 3)
		kube.PrependWatchReactor("events", func(clienttesting.Action) (bool, watch.Interface, error) {
			w := <-watches
			used <- w
			return true, w, nil
		})
		ctx, stop := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.print(ctx) }()
		w := <-used
		w.Add(event("e2", "Pod", "basic-tikv-0", "Pulled", "second", 0))
		w.Add(event("o1", "Pod", "other-tikv-0", "Pulled", "another cluster", 0))
		w.Modify(event("e2", "Pod", "basic-tikv-0", "Pulled", "second", 0)) // not changed
		w.Delete(event("e1", "Pod", "basic-tikv-0", "BackOff", "first", time.Minute))
		w.Error(&metav1.Status{Code: 410})
		w = <-used
		w.Add(event("e3", "Pod", "basic-tikv-0", "Started", "third", 0))
		synctest.Wait()
		stop(exit.ErrInterrupted)
		if err := <-ended; !errors.Is(err, exit.ErrInterrupted) {
			t.Errorf("%v", err)
		}
		want := "LAST SEEN   TYPE      REASON    OBJECT             MESSAGE\n60s         Warning   BackOff   Pod/basic-tikv-0   first\n"
		if !strings.HasPrefix(out.String(), want) || strings.Count(out.String(), "second") != 1 || strings.Count(out.String(), "third") != 1 ||
			strings.Count(out.String(), "\n") != 4 {
			t.Errorf("%s", out.String())
		}
	})
}

// TestRefused: what may not be read is an error, and no empty list.
func TestRefused(t *testing.T) {
	p, kube, _ := made(options{})
	kube.PrependReactor("list", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", errors.New("no"))
	})
	if err := p.print(t.Context()); exit.Of(err) != exit.Forbidden {
		t.Errorf("%v", err)
	}
}
