package denial

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	// withdrawnFor is how long a missing permission counts as Withdrawn.
	withdrawnFor = time.Minute
	// repeatsFor is how long after the first refusal of its kind a call is repeated at once.
	repeatsFor = 3 * time.Second
	// firstPause is the pause before the first repetition. Each later one is twice as long.
	firstPause = 250 * time.Millisecond
	// answerSize bounds how much is read of a refusal.
	answerSize = 1 << 20
)

// Transport returns a transport that for a few seconds repeats calls which were refused for a cause that passes. It
// remembers which kinds of call have worked. A 403 of a kind that has worked is marked as Withdrawn for a minute. It
// is safe to repeat any call, because the API server has done nothing when it answers 403.
func Transport(next http.RoundTripper) http.RoundTripper {
	return &transport{next: next, worked: map[string]bool{}, refused: map[string]time.Time{}}
}

type transport struct {
	next http.RoundTripper

	mu      sync.Mutex
	worked  map[string]bool      // the kinds of call that have worked
	refused map[string]time.Time // since when a kind of call is refused
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	kind := kindOf(r)
	for pause := firstPause; ; pause *= 2 {
		response, err := t.next.RoundTrip(r)
		if err != nil {
			return response, err
		}
		if response.StatusCode != http.StatusForbidden {
			if response.StatusCode < http.StatusBadRequest {
				t.allowed(kind)
			}
			return response, nil
		}
		meaning, since := t.judge(kind, response)
		if meaning.Final() || time.Since(since)+pause > repeatsFor {
			return response, nil
		}
		again, ok := repeated(r)
		if !ok {
			return response, nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-r.Context().Done():
			timer.Stop()
			return response, nil
		case <-timer.C:
		}
		_ = response.Body.Close()
		r = again
	}
}

// WrappedRoundTripper lets client-go find the transport below.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t *transport) allowed(kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.worked[kind] = true
	delete(t.refused, kind)
}

// judge returns what a refusal means, and since when its kind of call is refused. It marks the answer where the
// kind of call has worked before.
func (t *transport) judge(kind string, response *http.Response) (Meaning, time.Time) {
	t.mu.Lock()
	if t.refused[kind].IsZero() {
		t.refused[kind] = time.Now()
	}
	since, worked := t.refused[kind], t.worked[kind]
	t.mu.Unlock()
	s, ok := read(response)
	if !ok {
		return NotPermitted, since
	}
	meaning := Of(&apierrors.StatusError{ErrStatus: s})
	if worked && meaning.Permission() && time.Since(since) < withdrawnFor {
		mark(&s)
		write(response, s)
		meaning = Withdrawn
	}
	return meaning, since
}

// read returns the Status of an answer, whose body can be read again afterwards.
func read(response *http.Response) (metav1.Status, bool) {
	text, err := io.ReadAll(io.LimitReader(response.Body, answerSize))
	_ = response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(text))
	if err != nil {
		return metav1.Status{}, false
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
	s, ok := object.(*metav1.Status)
	if err != nil || !ok {
		return metav1.Status{}, false
	}
	return *s, true
}

// write replaces the body of an answer.
func write(response *http.Response, s metav1.Status) {
	s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	text, err := json.Marshal(s)
	if err != nil {
		return
	}
	response.Body = io.NopCloser(bytes.NewReader(text))
	response.ContentLength = int64(len(text))
	response.Header.Set("Content-Type", "application/json")
	response.Header.Set("Content-Length", strconv.Itoa(len(text)))
}

// repeated returns a copy of a request that can be sent, since a body is read only once.
func repeated(r *http.Request) (*http.Request, bool) {
	again := r.Clone(r.Context())
	if r.Body == nil || r.Body == http.NoBody {
		return again, true
	}
	if r.GetBody == nil {
		return nil, false
	}
	body, err := r.GetBody()
	again.Body = body
	return again, err == nil
}

// kindOf returns what a permission is given for: the verb, the resource and the namespace, without the name.
func kindOf(r *http.Request) string {
	verb, parts := r.Method, strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	base := slices.IndexFunc(parts, func(p string) bool { return p == "api" || p == "apis" }) // a proxy may have a path of its own
	if base < 0 {
		return verb + " " + r.URL.Path
	}
	version := base + 2 // api, v1
	if parts[base] == "apis" {
		version++ // apis, the group, its version
	}
	version = min(version, len(parts))
	scope, parts := strings.Join(parts[base:version], "/"), parts[version:]
	if len(parts) > 2 && parts[0] == "namespaces" {
		scope, parts = scope+" "+parts[1], parts[2:]
	}
	if len(parts) > 1 {
		parts[1], verb = "NAME", verb+" one"
	}
	if r.URL.Query().Get("watch") != "" {
		verb += " watch"
	}
	return verb + " " + scope + " " + strings.Join(parts, "/")
}
