package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// programs are the names of browsers that speak the DevTools protocol.
var programs = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// patience is how long a browser may take for anything, on a busy machine.
const patience = 2 * time.Minute

// tab is an open page.
type tab struct {
	t       *testing.T
	socket  *websocket.Conn
	session string
	calls   int
	events  []message
}

// message is an answer, if it has an ID, or an event.
type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct{ Message string }
}

// program returns a browser. Without one the test is skipped, except in CI, whose set-up ("make
// browser", which "make unit" begins with) installs one: a test that is always skipped proves nothing.
func program(t *testing.T) string {
	t.Helper()
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	says := "no browser to open the page in (none of " + strings.Join(programs, ", ") + "): install one with make browser"
	if os.Getenv("CI") == "true" {
		t.Fatal(says)
	}
	t.Skip(says)
	return ""
}

// open starts a browser with an empty page. It ends with the test.
func open(t *testing.T) *tab {
	t.Helper()
	path := program(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	// A browser that is killed may still write to its folder: t.TempDir would fail the test for that.
	profile, err := os.MkdirTemp("", "kubectl-tidb-browser")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
		"--remote-debugging-port=0", "--user-data-dir="+profile, "about:blank")
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	go listening(bufio.NewScanner(out), address)
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		_ = os.RemoveAll(profile)
	})
	at, ok := <-address
	if !ok {
		t.Fatal("the browser ended before it could be asked")
	}
	socket, response, err := websocket.DefaultDialer.DialContext(ctx, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	t.Cleanup(func() { _ = socket.Close() })
	if err := socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	b := &tab{t: t, socket: socket}
	var target struct{ TargetID string }
	b.call(&target, "Target.createTarget", map[string]any{"url": "about:blank"})
	var attached struct{ SessionID string }
	b.call(&attached, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true})
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Network", "Runtime", "Log"} {
		b.call(nil, domain+".enable", nil)
	}
	return b
}

var address = regexp.MustCompile(`DevTools listening on (ws://\S+)`)

// listening sends the address that the browser prints, and reads on, so that the browser never waits
// for its reader.
func listening(lines *bufio.Scanner, to chan<- string) {
	defer close(to)
	for lines.Scan() {
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			to <- m[1]
		}
	}
}

// call calls a method and waits for its answer. Events that come before are kept.
func (b *tab) call(result any, method string, params map[string]any) {
	b.t.Helper()
	b.calls++
	request := map[string]any{"id": b.calls, "method": method}
	if params != nil {
		request["params"] = params
	}
	if b.session != "" {
		request["sessionId"] = b.session
	}
	if err := b.socket.WriteJSON(request); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	for {
		m := b.next()
		if m.ID != b.calls {
			continue
		}
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				b.t.Fatalf("%s: %v", method, err)
			}
		}
		return
	}
}

func (b *tab) next() message {
	b.t.Helper()
	var m message
	if err := b.socket.ReadJSON(&m); err != nil {
		b.t.Fatalf("the browser does not answer: %v", err)
	}
	if m.ID == 0 {
		b.events = append(b.events, m)
	}
	return m
}

// visit opens an address and waits until all of the page is there.
func (b *tab) visit(url string) {
	b.t.Helper()
	b.events = nil
	b.call(nil, "Page.navigate", map[string]any{"url": url})
	for !b.happened("Page.loadEventFired") {
		b.next()
	}
}

func (b *tab) happened(method string) bool {
	for _, e := range b.events {
		if e.Method == method {
			return true
		}
	}
	return false
}

// prefer sets the size of the window and the colour scheme that its user prefers.
func (b *tab) prefer(scheme string, width, height int) {
	b.t.Helper()
	b.call(nil, "Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false})
	b.call(nil, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
}

// evaluate returns the value of an expression in the page.
func (b *tab) evaluate(to any, expression string) {
	b.t.Helper()
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call(&got, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true})
	if got.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, got.ExceptionDetails)
	}
	if err := json.Unmarshal(got.Result.Value, to); err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
}

// complaints are the requests of a page other than for itself, and what it says on the console.
func (b *tab) complaints(own string) []string {
	var all []string
	for _, e := range b.events {
		var p struct {
			Request struct{ URL string }
			Entry   struct{ Level, Text, URL string }
		}
		if err := json.Unmarshal(e.Params, &p); err != nil {
			b.t.Fatal(err)
		}
		switch e.Method {
		case "Network.requestWillBeSent":
			if p.Request.URL != own && !strings.HasPrefix(p.Request.URL, "data:") {
				all = append(all, "asks for "+p.Request.URL)
			}
		case "Runtime.consoleAPICalled", "Runtime.exceptionThrown":
			all = append(all, fmt.Sprintf("%s: %s", e.Method, e.Params))
		case "Log.entryAdded":
			all = append(all, p.Entry.Level+": "+p.Entry.Text+" "+p.Entry.URL)
		case "Page.javascriptDialogOpening":
			all = append(all, "opens a dialog")
		}
	}
	return all
}
