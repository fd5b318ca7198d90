package tidb

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestResumeDDL: only an answer by which there is no pause any more is a success.
func TestResumeDDL(t *testing.T) {
	for name, tt := range map[string]struct {
		code int
		body string
		ends bool
	}{
		"it ended":          {200, `"success!"`, true},
		"as plain text":     {200, "success!", true},
		"there was none":    {200, `"It's a duplicated operation and the cluster is already in normal state."`, true},
		"it is refused":     {200, `"upgrading failed"`, false},
		"another operation": {200, `"It's a duplicated operation and the cluster is already in upgrading state."`, false},
		"it fails":          {500, `"success!"`, false},
		"it does not know":  {404, "404 page not found", false},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || r.URL.Path != "/upgrade/finish" {
				t.Errorf("%s %s", r.Method, r.URL.Path)
			}
			w.WriteHeader(tt.code)
			io.WriteString(w, tt.body)
		}))
		if err := (&Client{HTTP: s.Client()}).ResumeDDL(t.Context(), strings.TrimPrefix(s.URL, "http://")); (err == nil) != tt.ends {
			t.Errorf("%s: %v", name, err)
		}
		s.Close()
	}
}

// TestDDLPaused: what TiDB answers in both states, and what one answers that does not know of it.
func TestDDLPaused(t *testing.T) {
	for body, want := range map[string]bool{
		`{"servers_num":3,"owner_id":"a","upgraded_percent":0}"success!"`: true,
		`"The cluster state is normal.""success!"`:                        false,
		`[schema]wrong operation:`:                                        false,
		`{}`:                                                              false,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || r.URL.Path != "/upgrade/show" {
				t.Errorf("%s %s", r.Method, r.URL.Path)
			}
			io.WriteString(w, body)
		}))
		c := &Client{HTTP: s.Client()}
		if got, err := c.DDLPaused(t.Context(), strings.TrimPrefix(s.URL, "http://")); err != nil || got != want {
			t.Errorf("%s: %t, %v", body, got, err)
		}
		s.Close()
	}
	c := &Client{HTTP: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })}}
	if _, err := c.DDLPaused(t.Context(), "basic-tidb-0"); err == nil {
		t.Error("no answer is not an error")
	}
}

// TestPauseDDL: TiDB pauses DDL only by one of two answers with 200. Any other answer is checked, since TiDB notes the
// pause before it may fail. A refusal means that DDL is not paused; what is not known is no refusal.
func TestPauseDDL(t *testing.T) {
	const normal, upgrading = `"The cluster state is normal.""success!"`, `{"servers_num":3,"upgraded_percent":0}"success!"`
	type answer struct {
		code int
		body string
	}
	for name, tt := range map[string]struct {
		start, show     answer
		begins, refused bool
	}{
		"it begins":                   {start: answer{200, `"success!"`}, begins: true},
		"as plain text":               {start: answer{200, "success!"}, begins: true},
		"it was paused":               {start: answer{200, `"It's a duplicated operation and the cluster is already in upgrading state."`}, begins: true},
		"it is refused":               {answer{400, "[ddl]get owner op failed"}, answer{200, normal}, false, true},
		"an error, and it is paused":  {answer{400, "context deadline exceeded"}, answer{200, upgrading}, true, false},
		"an error, and not known":     {answer{400, "context deadline exceeded"}, answer{500, ""}, false, false},
		"a wrong body":                {answer{200, `"hello"`}, answer{200, normal}, false, true},
		"another operation":           {answer{200, `"It's a duplicated operation and the cluster is already in normal state."`}, answer{200, normal}, false, true},
		"it does not know of it":      {answer{404, "404 page not found"}, answer{404, "404 page not found"}, false, true},
		"no answer to either of them": {start: answer{}},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a := map[string]answer{"/upgrade/start": tt.start, "/upgrade/show": tt.show}[r.URL.Path]
			if r.Method != http.MethodPost {
				t.Errorf("%s %s", r.Method, r.URL.Path)
			}
			if a.code == 0 {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(a.code)
			io.WriteString(w, a.body)
		}))
		err := (&Client{HTTP: s.Client()}).PauseDDL(t.Context(), strings.TrimPrefix(s.URL, "http://"))
		if refused := errors.As(err, new(*RefusedError)); (err == nil) != tt.begins || refused != tt.refused {
			t.Errorf("%s: %v", name, err)
		}
		s.Close()
	}
}

// TestCanPauseDDL: only a server that does not know the request, or does not answer, cannot pause DDL.
func TestCanPauseDDL(t *testing.T) {
	for code, want := range map[int]bool{200: true, 400: true, 500: true, 404: false} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || r.URL.Path != "/upgrade/show" {
				t.Errorf("%s %s", r.Method, r.URL.Path)
			}
			w.WriteHeader(code)
		}))
		err := (&Client{HTTP: s.Client()}).CanPauseDDL(t.Context(), strings.TrimPrefix(s.URL, "http://"))
		if refused := errors.As(err, new(*RefusedError)); (err == nil) != want || refused == want {
			t.Errorf("%d: %v", code, err)
		}
		s.Close()
	}
	c := &Client{HTTP: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })}}
	if err := c.CanPauseDDL(t.Context(), "basic-tidb-0"); err == nil || errors.As(err, new(*RefusedError)) {
		t.Errorf("no answer: %v", err)
	}
}
