package denial

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// server answers each request with the next answer, the last one for ever: "" is a success, else a 403 with that text.
type server struct {
	answers []string
	bodies  []string
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, _ := io.ReadAll(r.Body)
		s.bodies = append(s.bodies, string(body))
	}
	next := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	code, text := http.StatusOK, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"}}`
	if next != "" {
		code = http.StatusForbidden
		text = `{"apiVersion":"v1","kind":"Status","status":"Failure","code":403,"reason":"Forbidden","message":"` + strings.ReplaceAll(next, `"`, `\"`) + `"}`
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text)), Request: r,
	}, nil
}

// client returns a client of a server behind the transport.
func client(t *testing.T, s *server) kubernetes.Interface {
	t.Helper()
	kube, err := kubernetes.NewForConfig(&rest.Config{
		Host: "http://api.example", QPS: -1, WrapTransport: func(http.RoundTripper) http.RoundTripper { return Transport(s) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return kube
}

// create makes a Service and returns how long the call took, and its error.
func create(t *testing.T, kube kubernetes.Interface) (time.Duration, error) {
	t.Helper()
	begun := time.Now()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	_, err := kube.CoreV1().Services("db").Create(t.Context(), service, metav1.CreateOptions{})
	return time.Since(begun), err
}

func TestPassingRefusalsAreRepeated(t *testing.T) {
	for _, text := range []string{notLoaded, `services "a" is forbidden: status unknown for quota: team, resources: count/services`} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{answers: []string{text, text, ""}}
			if _, err := create(t, client(t, s)); err != nil {
				t.Error(err)
			}
			if len(s.bodies) != 3 || s.bodies[0] == "" || s.bodies[2] != s.bodies[0] {
				t.Errorf("sent %q", s.bodies)
			}
		})
	}
}

func TestRepetitionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := client(t, &server{answers: []string{notLoaded}})
		if took, err := create(t, kube); Of(err) != NotLoaded || took > repeatsFor {
			t.Errorf("after %v: %v", took, err)
		}
		time.Sleep(repeatsFor)
		if took, err := create(t, kube); Of(err) != NotLoaded || took != 0 {
			t.Errorf("a binding of a role that does not exist costs %v in each call: %v", took, err)
		}
	})
}

func TestRefusalsThatStayAreNotRepeated(t *testing.T) {
	for _, text := range []string{user, "exceeded quota: team", `admission webhook "x" denied the request: no`} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{answers: []string{text}}
			if took, err := create(t, client(t, s)); !Of(err).Final() || took != 0 || len(s.bodies) != 1 {
				t.Errorf("%d calls in %v: %v", len(s.bodies), took, err)
			}
		})
	}
}

func TestPermissionThatWasThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := client(t, &server{answers: []string{"", user}})
		if _, err := create(t, kube); err != nil {
			t.Fatal(err)
		}
		for range 11 {
			if _, err := create(t, kube); Of(err) != Withdrawn || !strings.Contains(err.Error(), "cannot create resource") {
				t.Fatalf("%q: %v", Of(err), err)
			}
			time.Sleep(5 * time.Second)
		}
		time.Sleep(5 * time.Second)
		if _, err := create(t, kube); Of(err) != NotPermitted {
			t.Errorf("after a minute %q: %v", Of(err), err)
		}
	})
}

func TestAnotherKindOfCallHasWorked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{answers: []string{"", user}}
		kube := client(t, s)
		if _, err := kube.CoreV1().Services("db").Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := create(t, kube); Of(err) != NotPermitted {
			t.Errorf("%q: %v", Of(err), err)
		}
	})
}

func TestKindOf(t *testing.T) {
	for _, tt := range []struct{ method, address, want string }{
		{"GET", "/api/v1/namespaces/db/pods", "GET api/v1 db pods"},
		{"GET", "/api/v1/namespaces/db/pods?watch=true", "GET watch api/v1 db pods"},
		{"GET", "/api/v1/namespaces/db/pods/a", "GET one api/v1 db pods/NAME"},
		{"POST", "/api/v1/namespaces/db/pods/a/portforward", "POST one api/v1 db pods/NAME/portforward"},
		{"GET", "/api/v1/nodes/n", "GET one api/v1 nodes/NAME"},
		{"GET", "/api/v1/namespaces/db", "GET one api/v1 namespaces/NAME"},
		{"PATCH", "/k8s/clusters/c/apis/apps/v1/namespaces/db/statefulsets/a", "PATCH one apis/apps/v1 db statefulsets/NAME"},
		{"GET", "/version", "GET /version"},
		{"GET", "/api", "GET api "},
	} {
		u, err := url.Parse("http://h" + tt.address)
		if err != nil {
			t.Fatal(err)
		}
		if got := kindOf(&http.Request{Method: tt.method, URL: u}); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.address, got, tt.want)
		}
	}
}
