package tidb

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// server is as much of a TiDB server as a login needs: the handshake, and statements that it only
// keeps.
type server struct {
	net.Listener
	with   *tls.Config // nil: it has no TLS
	login  uint16      // the error with which it refuses logins, 0 for none
	refuse uint16      // the same for statements
	hangup bool        // it ends the connection instead of an answer to a statement

	mu  sync.Mutex
	did seen
}

// seen is what a server has seen.
type seen struct {
	statements []string
	users      []string // who has logged in, and an asterisk for each byte of a password
	encrypted  bool
}

const (
	connectWithTLS = 0x800
	capabilities   = 0x1 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x80000
)

func serveSQL(t *testing.T, s *server) Root {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Listener = l
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, l.Addr().String())
	}
	return Root{Addr: "basic-tidb-0.basic-tidb-peer.db.svc:4000", Dial: dial}
}

func (s *server) serve(conn net.Conn) {
	defer conn.Close()
	can := uint32(capabilities)
	if s.with != nil {
		can |= connectWithTLS
	}
	hello := append([]byte{10}, "8.0.11-TiDB-v8.5.0\x00"...)
	hello = append(hello, 1, 0, 0, 0)
	hello = append(hello, "abcdefgh\x00"...)
	hello = binary.LittleEndian.AppendUint16(hello, uint16(can))
	hello = append(hello, 45, 2, 0)
	hello = binary.LittleEndian.AppendUint16(hello, uint16(can>>16))
	hello = append(hello, 21)
	hello = append(hello, make([]byte, 10)...)
	hello = append(hello, "abcdefghijkl\x00mysql_native_password\x00"...)
	send(conn, 0, hello)
	number, packet, err := receive(conn)
	if err == nil && binary.LittleEndian.Uint32(packet)&connectWithTLS != 0 {
		conn = tls.Server(conn, s.with)
		number, packet, err = receive(conn)
	}
	if err != nil {
		return
	}
	user, rest, _ := bytes.Cut(packet[32:], []byte{0})
	s.note(func(d *seen) {
		d.users = append(d.users, string(user)+strings.Repeat("*", int(rest[0])))
		_, d.encrypted = conn.(*tls.Conn)
	})
	if answer(conn, number, s.login); s.login != 0 {
		return
	}
	for {
		number, packet, err := receive(conn)
		switch {
		case err != nil, packet[0] == 1: // the client ends
			return
		case packet[0] == 14: // a ping
			answer(conn, number, 0)
			continue
		}
		s.note(func(d *seen) { d.statements = append(d.statements, string(packet[1:])) })
		if s.hangup {
			return
		}
		answer(conn, number, s.refuse)
	}
}

func (s *server) note(change func(*seen)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.did)
}

func (s *server) seen() seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.did
}

func send(conn io.Writer, number byte, body []byte) {
	head := []byte{byte(len(body)), byte(len(body) >> 8), 0, number}
	_, _ = conn.Write(append(head, body...))
}

func receive(conn io.Reader) (number byte, body []byte, err error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(conn, head); err != nil {
		return 0, nil, err
	}
	body = make([]byte, int(head[0])+int(head[1])<<8)
	_, err = io.ReadFull(conn, body)
	return head[3], body, err
}

// answer quotes the last statement in its errors, as a server may do.
func answer(conn io.Writer, number byte, code uint16) {
	if code == 0 {
		send(conn, number+1, []byte{0, 0, 0, 2, 0, 0, 0})
		return
	}
	body := binary.LittleEndian.AppendUint16([]byte{255}, code)
	send(conn, number+1, append(body, "#HY000near 'S3cret-'\\x"...))
}

// quoted in SQL, it has all of what needs quotes.
const secret = `S3cret-'\x`

func TestSetPassword(t *testing.T) {
	s := &server{}
	if err := serveSQL(t, s).SetPassword(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if want := []string{`ALTER USER 'root'@'%' IDENTIFIED BY 'S3cret-\'\\x'`}; !slices.Equal(s.seen().statements, want) {
		t.Errorf("got %q, want %q", s.seen().statements, want)
	}
	if users := s.seen().users; !slices.Equal(users, []string{"root"}) {
		t.Errorf("logged in as %q, want root without a password, once", users)
	}
}

// TestLogin: only a refused login as such means that somebody has set a password. A server that
// cannot be reached, or cannot serve, says nothing about that.
func TestLogin(t *testing.T) {
	for name, tt := range map[string]struct {
		login uint16
		set   bool
	}{
		"a wrong password":        {1045, true},
		"no password":             {1698, true},
		"a locked account":        {3118, true},
		"too many connections":    {1040, false},
		"it is just shut down":    {1053, false},
		"TLS is asked for":        {3159, false},
		"the client is too old":   {1251, false},
		"a plugin is not known":   {1524, false},
		"a server without errors": {0, false},
	} {
		t.Run(name, func(t *testing.T) {
			root := serveSQL(t, &server{login: tt.login})
			for verb, err := range map[string]error{"log in": root.Login(t.Context()), "set": root.SetPassword(t.Context(), secret)} {
				if errors.Is(err, ErrPasswordSet) != tt.set || (err != nil) != (tt.login != 0) {
					t.Errorf("%s: %v", verb, err)
				}
			}
		})
	}
}

// TestNoPasswordInErrors: a server may quote the statement that it refuses.
func TestNoPasswordInErrors(t *testing.T) {
	for name, s := range map[string]*server{"refused": {refuse: 1064}, "weak": {refuse: weak}, "no right": {refuse: 1227}, "ended": {hangup: true}} {
		t.Run(name, func(t *testing.T) {
			err := serveSQL(t, s).SetPassword(t.Context(), secret)
			if err == nil || errors.Is(err, ErrPasswordSet) || strings.Contains(err.Error(), "S3cret") {
				t.Errorf("got %v", err)
			}
			if n := len(s.seen().statements); n != 1 {
				t.Errorf("%d statements", n)
			}
		})
	}
}

// tidb-B25: with TLS nothing that matters is sent before the server has shown its certificate, and a
// server without TLS, or with another certificate, gets no password.
func TestLoginTLS(t *testing.T) {
	t.Run("tidb-B25", func(t *testing.T) {
		shown := httptest.NewTLSServer(nil)
		defer shown.Close()
		roots := x509.NewCertPool()
		roots.AddCert(shown.Certificate())
		for name, tt := range map[string]struct {
			server *tls.Config
			trusts *x509.CertPool
			ok     bool
		}{
			"TLS":                 {shown.TLS, roots, true},
			"no TLS":              {nil, roots, false},
			"another certificate": {shown.TLS, x509.NewCertPool(), false},
		} {
			s := &server{with: tt.server}
			root := serveSQL(t, s)
			root.TLS = &tls.Config{RootCAs: tt.trusts, ServerName: "example.com"}
			err := root.SetPassword(t.Context(), secret)
			if got := s.seen(); (err == nil) != tt.ok || got.encrypted != tt.ok || len(got.statements) > 0 != tt.ok {
				t.Errorf("%s: %v, %+v", name, err, got)
			}
		}
	})
}

func TestLoginWithoutServer(t *testing.T) {
	away := errors.New("the pod does not run")
	root := Root{Addr: "h:4000", Dial: func(context.Context, string, string) (net.Conn, error) { return nil, away }}
	if err := root.Login(t.Context()); !errors.Is(err, away) || !strings.Contains(err.Error(), "h:4000") {
		t.Errorf("got %v", err)
	}
}
