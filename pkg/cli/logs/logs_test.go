package logs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	fakerest "k8s.io/client-go/rest/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

var basic = topology.Cluster{Namespace: "db", Name: "basic", Instance: "basic"}

// pod returns a pod with these containers.
func pod(name string, containers ...string) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: name}}
	for _, c := range containers {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: c})
	}
	return p
}

func pods() []corev1.Pod {
	prepared := pod("basic-tikv-0", "tikv")
	prepared.Spec.InitContainers = []corev1.Container{{Name: "prepare"}}
	return []corev1.Pod{
		pod("basic-discovery-7d9f", "discovery"), pod("basic-tikv-10", "tikv"), pod("basic-tikv-2", "tikv"), prepared,
		pod("basic-pd-0", "pd"), pod("basic-tidb-0", "slowlog", "tidb"), pod("basic-tiflash-0", "serverlog", "errorlog"),
	}
}

// TestSources: which containers are chosen, in which order.
func TestSources(t *testing.T) {
	for _, c := range []struct {
		only, flags string
		code        exit.Code
		want        string // or what the error says
	}{
		{"", "", 0, "basic-pd-0/pd basic-tikv-0/tikv basic-tikv-2/tikv basic-tikv-10/tikv basic-tiflash-0/serverlog basic-tidb-0/tidb"},
		{"tikv", "", 0, "basic-tikv-0/tikv basic-tikv-2/tikv basic-tikv-10/tikv"},
		{"tikv-2 basic-pd-0 pd", "", 0, "basic-pd-0/pd basic-tikv-2/tikv"},
		{"tidb", "-c slowlog", 0, "basic-tidb-0/slowlog"},
		{"", "-c slowlog", 0, "basic-tidb-0/slowlog"},
		{"tikv-0 tidb", "--all-containers", 0, "basic-tikv-0/prepare basic-tikv-0/tikv basic-tidb-0/slowlog basic-tidb-0/tidb"},
		{"tikv", "-c slowlog", exit.Usage, `no chosen member has a container "slowlog"; there are prepare, tikv`},
		{"ticdc", "", exit.Refused, "cluster db/basic has no pods of ticdc"},
		{"other-tikv-1", "", exit.Usage, `"other-tikv-1" is neither a component nor a member of a cluster basic`},
		{"tikv-1", "", exit.Usage, `no member "tikv-1"; its members are basic-pd-0, basic-tikv-0`},
		{"", "-f --max-log-requests 5", exit.Usage, "6 containers are to be followed, and at most 5"},
		{"tikv", "-f --previous", exit.Usage, "-f does not go with --previous"},
		{"tikv", "-c tikv --all-containers", exit.Usage, "--all-containers=true should not be specified"},
		{"tikv", "--since 1h --since-time 2026-03-01T12:00:00Z", exit.Usage, "at most one of"},
		{"tikv", "--since-time noon", exit.Usage, "noon"},
		{"tikv", "--since -1h", exit.Usage, "--since must not be negative"},
		{"tikv", "--tail -2", exit.Usage, "--tail"},
	} {
		t.Run(c.only+" "+c.flags, func(t *testing.T) {
			var got string
			f := factory.New(genericiooptions.NewTestIOStreamsDiscard(), func(string) string { return "" }, "")
			cmd := command(f, func(_ context.Context, o options) error {
				members, err := choose(basic, pods(), o.only)
				if err != nil {
					return err
				}
				all, err := o.sources(members)
				for _, s := range all {
					got += " " + s.String()
				}
				return err
			})
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetArgs(strings.Fields("basic " + c.only + " " + c.flags))
			err := cmd.Execute()
			if err != nil {
				got = err.Error()
			}
			if exit.Of(err) != c.code || c.code == 0 && strings.TrimSpace(got) != c.want || !strings.Contains(got, c.want) {
				t.Errorf("exit code %d, %q; want %d, %q", exit.Of(err), got, c.code, c.want)
			}
		})
	}
	if _, err := choose(basic, nil, nil); exit.Of(err) != exit.Refused {
		t.Errorf("no pods: %v", err)
	}
}

// kubelet answers requests for logs. It implements a part of PodInterface.
type kubelet struct {
	corev1client.PodInterface
	answer func(ctx context.Context, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error)
}

func (k kubelet) GetLogs(name string, o *corev1.PodLogOptions) *rest.Request {
	client := &fakerest.RESTClient{
		NegotiatedSerializer: scheme.Codecs.WithoutConversion(), GroupVersion: corev1.SchemeGroupVersion,
		Client: fakerest.CreateHTTPClient(func(r *http.Request) (*http.Response, error) {
			body, err := k.answer(r.Context(), name, o)
			if refused, ok := errors.AsType[*apierrors.StatusError](err); ok {
				// A copy, because requests for the logs of several pods return the same error at the same time.
				status := refused.ErrStatus
				status.APIVersion, status.Kind = "v1", "Status"
				text, err := json.Marshal(status)
				return &http.Response{
					StatusCode: int(status.Code), Header: http.Header{"Content-Type": {"application/json"}}, Body: content(string(text)),
				}, err
			}
			return &http.Response{StatusCode: http.StatusOK, Body: body}, err
		}),
	}
	return client.Request()
}

// printing returns a printer with flags, whose output can be read while it prints.
func printing(t *testing.T, flags string, k kubelet) (p *printer, out, errOut *text) {
	t.Helper()
	out, errOut = &text{}, &text{}
	f := factory.New(genericiooptions.IOStreams{Out: out, ErrOut: errOut}, func(string) string { return "" }, "")
	cmd := command(f, func(_ context.Context, o options) error {
		p = &printer{options: o, pods: k, several: true, now: time.Now}
		return nil
	})
	cmd.SetArgs(strings.Fields("basic " + flags))
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	return p, out, errOut
}

type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *text) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *text) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

func content(s string) io.ReadCloser { return io.NopCloser(strings.NewReader(s)) }

// two are containers of two members.
var two = []source{{"basic-tikv-0", "tikv"}, {"basic-tidb-0", "slowlog"}}

// TestPrint: logs of several members come one after the other, each line with its member. One that
// cannot be read keeps no other from being printed, and the command fails.
func TestPrint(t *testing.T) {
	k := kubelet{answer: func(_ context.Context, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
		if pod == "basic-tikv-1" {
			return nil, apierrors.NewBadRequest("container is waiting to start")
		}
		if o.TailLines == nil || *o.TailLines != shortTail || !o.Timestamps {
			t.Errorf("asked for %+v", o)
		}
		return content("one\ntwo"), nil
	}}
	p, out, errOut := printing(t, "--timestamps", k)
	err := p.print(t.Context(), []source{two[0], {"basic-tikv-1", "tikv"}, two[1]})
	const want = "[pod/basic-tikv-0/tikv] one\n[pod/basic-tikv-0/tikv] two\n[pod/basic-tidb-0/slowlog] one\n[pod/basic-tidb-0/slowlog] two\n"
	if out.String() != want {
		t.Errorf("%q", out)
	}
	if exit.Of(err) != exit.Failure || strings.TrimSpace(err.Error()) != "" || !strings.HasPrefix(errOut.String(), "basic-tikv-1/tikv: ") {
		t.Errorf("%v, %q", err, errOut)
	}
	p, out, _ = printing(t, "--prefix=false", kubelet{answer: func(context.Context, string, *corev1.PodLogOptions) (io.ReadCloser, error) {
		return content("one\n"), nil
	}})
	if err := p.print(t.Context(), two); err != nil || out.String() != "one\none\n" {
		t.Errorf("%v, %q", err, out)
	}
	p, _, _ = printing(t, "--since 1h", kubelet{answer: func(_ context.Context, _ string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
		if o.TailLines != nil {
			t.Error("--since is cut to some lines")
		}
		return content(""), nil
	}})
	if err := p.print(t.Context(), two); err != nil {
		t.Error(err)
	}
}

// TestFollow: the log of a container that was restarted goes on, without the lines that were
// printed already, until the command is interrupted.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		waiting := apierrors.NewBadRequest("container is waiting to start")
		k := kubelet{answer: func(ctx context.Context, _ string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
			since := "the start"
			if o.SinceTime != nil {
				since = o.SinceTime.UTC().Format(time.TimeOnly)
			}
			asked = append(asked, since)
			switch len(asked) {
			case 1:
				return content("before\n"), nil
			case 2, 3:
				return nil, waiting
			}
			in, out := io.Pipe()
			go func() {
				_, _ = io.WriteString(out, "after\n")
				<-ctx.Done()
				_ = out.CloseWithError(ctx.Err())
			}()
			return in, nil
		}}
		p, out, errOut := printing(t, "-f", k)
		ctx, interrupt := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() { done <- p.print(ctx, two[:1]) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		interrupt(exit.ErrInterrupted)
		if err := <-done; !errors.Is(err, exit.ErrInterrupted) {
			t.Error(err)
		}
		if out.String() != "[pod/basic-tikv-0/tikv] before\n[pod/basic-tikv-0/tikv] after\n" || strings.Join(asked, " ") != "the start 00:00:00 00:00:00 00:00:00" {
			t.Errorf("%q, asked since %q", out, asked)
		}
		if got := errOut.String(); strings.Count(got, "following the next container") != 1 || strings.Count(got, "waiting to start") != 1 {
			t.Errorf("%q", got)
		}
	})
}

// TestFollowEnds: what another attempt does not change ends the command.
func TestFollowEnds(t *testing.T) {
	no := apierrors.NewForbidden(schema.GroupResource{Resource: "pods/log"}, "basic-tikv-0", errors.New("no"))
	p, _, _ := printing(t, "-f", kubelet{answer: func(context.Context, string, *corev1.PodLogOptions) (io.ReadCloser, error) { return nil, no }})
	if err := p.print(t.Context(), two); exit.Of(err) != exit.Forbidden {
		t.Errorf("forbidden: %v", err)
	}
	p, _, _ = printing(t, "-f", kubelet{answer: func(context.Context, string, *corev1.PodLogOptions) (io.ReadCloser, error) {
		return content("one\n"), nil
	}})
	p.Out = closed{}
	if err := p.print(t.Context(), two); err == nil || !strings.Contains(err.Error(), "write the log: closed") {
		t.Errorf("nobody reads: %v", err)
	}
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("closed") }
