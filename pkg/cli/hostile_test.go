package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
)

// hostile is a text of a member or of an object: an escape sequence that sets the title of a window, BEL, C1 controls
// (also as a byte that is no UTF-8), DEL, bidi controls, line breaks, and commands to CI systems.
const hostile = "EVIL\x1b]0;T\x07\x1b[2J\u009b31m\u0085\x7f\u202eX\u2066Y\ufeff\u200b\r\n::set-output name=a::b\n  ::error::c ##[error]d ##vso[e] Z"

// evilPod returns a pod of a member, of which others have written all that they can.
func evilPod(component string, n int) corev1.Pod {
	name := fmt.Sprintf("basic-%s-%d", component, n)
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: "u", ResourceVersion: "1", CreationTimestamp: at, Annotations: map[string]string{"note": hostile},
			Labels: map[string]string{
				"app.kubernetes.io/name": "tidb-cluster", "app.kubernetes.io/managed-by": "tidb-operator",
				"app.kubernetes.io/instance": "basic", "app.kubernetes.io/component": component,
			},
		},
		Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: component, Image: "pingcap/" + component + ":v8.1.0"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: evilAddress, PodIPs: []corev1.PodIP{{IP: evilAddress}}, Message: hostile, Reason: hostile,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: hostile, Message: hostile, LastTransitionTime: at},
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: component, RestartCount: 3, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: hostile, Message: hostile}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: hostile, Message: hostile, FinishedAt: at}},
			}},
		},
	}
}

// evilAddress is where members answer, if this machine has such an address.
const evilAddress = "127.77.77.77"

// evilMember answers every request to a member with hostile texts.
func evilMember(w http.ResponseWriter, r *http.Request) {
	member := map[string]any{"name": hostile, "member_id": 1, "client_urls": []string{"http://basic-pd-0.basic-pd-peer.default.svc:2379"}, "peer_urls": []string{hostile}}
	code, body := http.StatusOK, any(map[string]any{"error": hostile, "message": hostile, "version": hostile, hostile: hostile})
	switch {
	case strings.HasSuffix(r.URL.Path, "/members"):
		body = map[string]any{"header": map[string]any{"cluster_id": 7}, "members": []any{member}, "leader": member, "etcd_leader": member}
	case strings.HasSuffix(r.URL.Path, "/stores"):
		body = map[string]any{"count": 1, "stores": []any{map[string]any{
			"store":  map[string]any{"id": 1, "address": hostile, "state_name": hostile, "version": hostile, "labels": []any{map[string]any{"key": hostile, "value": hostile}}},
			"status": map[string]any{"capacity": hostile},
		}}}
	case r.Method != http.MethodGet, strings.Contains(r.URL.Path, "config"):
		code, body = http.StatusInternalServerError, hostile
	}
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

// evilCluster is a TidbCluster on which others have written.
func evilCluster() map[string]any {
	c := tidbcluster("basic")
	pause, _ := json.Marshal(map[string]any{"by": hostile, "reason": hostile, "since": "2026-01-02T03:04:05Z"})
	change, _ := json.Marshal(map[string]any{"action": hostile, "by": hostile, "at": "2026-01-02T03:04:05Z"})
	c["metadata"].(map[string]any)["annotations"] = map[string]any{
		"note": hostile, "kubectl-tidb/pause": string(pause), "kubectl-tidb/last-change": string(change),
		"kubectl-tidb/maintenance": hostile, "kubectl-tidb/canary": hostile, "kubectl-tidb/restart": hostile,
	}
	spec := c["spec"].(map[string]any)
	spec["tidb"] = map[string]any{"replicas": 2, "baseImage": "pingcap/tidb", "schedulerName": hostile}
	c["status"] = map[string]any{"conditions": []any{map[string]any{
		"type": "Ready", "status": "False", "reason": hostile, "message": hostile, "lastTransitionTime": "2026-01-02T03:04:05Z", "lastUpdateTime": "2026-01-02T03:04:05Z",
	}}}
	return c
}

// empty are lists of objects that a cluster may be without.
var empty = map[string]string{
	"services": "v1/ServiceList", "configmaps": "v1/ConfigMapList", "secrets": "v1/SecretList", "persistentvolumes": "v1/PersistentVolumeList",
	"statefulsets": "apps/v1/StatefulSetList", "deployments": "apps/v1/DeploymentList", "controllerrevisions": "apps/v1/ControllerRevisionList",
}

// evilAPI answers as an API server whose objects, and whose errors, others have written. One that is open lets members
// be asked, another one forbids what is read before that.
func evilAPI(t *testing.T, open bool) *httptest.Server {
	list := func(kind string, items ...any) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"resourceVersion": "1"}, "items": items}
	}
	var pods []any
	for _, component := range []string{"pd", "tikv", "tidb"} {
		for n := range 3 {
			pods = append(pods, evilPod(component, n))
		}
	}
	events := list("EventList", corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: "e", UID: "e"},
		InvolvedObject: corev1.ObjectReference{Kind: "TidbCluster", APIVersion: "pingcap.com/v1alpha1", Namespace: "default", Name: "basic", UID: "1"},
		Type:           "Warning", Reason: hostile, Message: hostile, Source: corev1.EventSource{Component: hostile}, Count: 2,
		LastTimestamp: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
	})
	node := map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{
		"name": "node-1", "resourceVersion": "1", "annotations": map[string]any{"kubectl-tidb/maintenance": hostile},
	}}
	answers := discovery(map[string]any{
		tidbclusters: clusterList(evilCluster()), tidbclusters + "/basic": evilCluster(), "/apis/pingcap.com/v1alpha1/tidbclusters": clusterList(evilCluster()),
		"/api/v1/namespaces/default/pods": list("PodList", pods...), "/api/v1/pods": list("PodList", pods...),
		"/api/v1/namespaces/default/events": events, "/api/v1/nodes": list("NodeList", node), "/api/v1/nodes/node-1": node,
		"/api/v1/namespaces/default/persistentvolumeclaims": list("PersistentVolumeClaimList"),
	})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch answer, ok := answers[r.URL.Path]; {
		case strings.HasSuffix(r.URL.Path, "/log"):
			fmt.Fprintln(w, hostile+"\x9b\xff")
		case ok && r.Method == http.MethodGet && r.URL.Query().Get("watch") == "":
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(answer)
		case open && r.Method == http.MethodGet && r.URL.Query().Get("watch") == "":
			w.Header().Set("Content-Type", "application/json")
			version, kind := path.Split(empty[path.Base(r.URL.Path)])
			if kind != "" {
				_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": strings.TrimSuffix(version, "/"), "kind": kind, "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{}})
				return
			}
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound, Message: hostile,
			})
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden,
				Message: "admission webhook \"" + hostile + "\" denied the request: " + hostile,
			})
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// controls returns what in an output could control a terminal or a CI system.
func controls(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		for _, r := range line {
			if r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				return fmt.Sprintf("%U in %q", r, line)
			}
		}
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") || strings.Contains(line, "##vso[") {
			return fmt.Sprintf("a command in %q", line)
		}
	}
	if strings.ToValidUTF8(text, "") != text {
		return "bytes that are no UTF-8"
	}
	return ""
}

// TestHostileTexts runs every command, by the first of its examples and in the formats of -o, against an API server and
// members with hostile texts. No output has a character or a line that controls a terminal or a CI system.
func TestHostileTexts(t *testing.T) {
	t.Chdir(t.TempDir())
	for file, text := range exampleFiles {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	done, _ := json.Marshal(map[string]any{
		"apiVersion": "kubectl-tidb/v1", "type": "done", "time": "2026-01-02T03:04:05Z", "outcome": "failed", "cluster": "basic", "namespace": "default", "error": hostile,
	})
	if err := os.WriteFile("events.ndjson", append(done, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	members := true
	var asked atomic.Int32
	for _, port := range []string{"2379", "10080", "20180"} {
		at, err := net.Listen("tcp", net.JoinHostPort(evilAddress, port))
		if err != nil {
			t.Log("members cannot answer:", err)
			members = false
			break
		}
		member := &httptest.Server{Listener: at, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			evilMember(w, r)
		}), ReadHeaderTimeout: time.Minute}}
		member.Start()
		t.Cleanup(member.Close)
	}
	servers := []*httptest.Server{evilAPI(t, false), evilAPI(t, true)}
	lines := [][]string{
		{"status", "basic", "-o", "wide"}, {"status", "basic", "-o", "json"}, {"status", "basic", "-o", "yaml"}, {"status", "basic", "-o", "jsonpath={}"},
		{"status", "basic", "-o", "go-template={{.}}"}, {"list", "-o", "yaml"}, {"list", "-o", "custom-columns=A:.metadata,B:.status"}, {"events", "basic", "-o", "yaml"},
		{"events", "basic", "-o", "json"}, {"doctor", "basic", "-o", "json"}, {"plan", "basic", "-o", "json"}, {"sync", "basic", "-o", "json"},
		{"report", "--from", "events.ndjson", "-o", "html"}, {"report", "--from", "events.ndjson", "-o", "junit"}, {hostile}, {"status", hostile}, {"scale", "basic", hostile},
	}
	for _, c := range leaves(tree()) {
		for line := range strings.Lines(strings.ReplaceAll(c.Example, "\\\n", " ")) {
			if args := split(line); args != nil {
				lines = append(lines, args)
				break
			}
		}
	}
	var mu sync.Mutex
	var each sync.WaitGroup
	slots, reached := make(chan struct{}, 8), 0
	env := func(name string) string { return map[string]string{"CI": "true", "GITHUB_ACTIONS": "true"}[name] }
	one := func(args []string, f *factory.Factory, root *cobra.Command, out, errOut *bytes.Buffer) {
		slots <- struct{}{}
		defer func() { <-slots }()
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		execute(ctx, f, root)
		mu.Lock()
		defer mu.Unlock()
		for name, text := range map[string]string{"stdout": out.String(), "stderr": errOut.String()} {
			if strings.Contains(text, "EVIL") {
				reached++
			}
			if found := controls(text); found != "" {
				t.Errorf("%q: %s has %s", args, name, found)
			}
		}
	}
	for _, args := range lines {
		for _, server := range servers {
			var out, errOut bytes.Buffer
			f, root := prepare(append([]string{"--server", server.URL, "--dial", "direct"}, args...),
				genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}, env)
			each.Go(func() { one(args, f, root, &out, &errOut) })
		}
	}
	each.Wait()
	if asked.Load() == 0 && members || reached < len(lines)/2 {
		t.Errorf("%d outputs of %d command lines had a hostile text, and members were asked %d times", reached, len(lines), asked.Load())
	}
}
