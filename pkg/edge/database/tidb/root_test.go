package tidb

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/test/tidbtest"
)

// serveSQL starts a server, and returns a root that connects to it.
func serveSQL(t *testing.T, s *tidbtest.Server) Root {
	t.Helper()
	s.Start(t)
	return Root{Addr: "basic-tidb-0.basic-tidb-peer.db.svc:4000", Dial: s.Dial}
}

// quoted in SQL, it has all of what needs quotes.
const secret = `S3cret-'\x`

func TestSetPassword(t *testing.T) {
	s := &tidbtest.Server{}
	if err := serveSQL(t, s).SetPassword(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if want := []string{`ALTER USER 'root'@'%' IDENTIFIED BY 'S3cret-\'\\x'`}; !slices.Equal(s.Seen().Statements, want) {
		t.Errorf("got %q, want %q", s.Seen().Statements, want)
	}
	if users := s.Seen().Users; !slices.Equal(users, []string{"root"}) {
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
			root := serveSQL(t, &tidbtest.Server{Login: tt.login})
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
	for name, s := range map[string]*tidbtest.Server{"refused": {Refuse: 1064}, "weak": {Refuse: weak}, "no right": {Refuse: 1227}, "ended": {Hangup: true}} {
		t.Run(name, func(t *testing.T) {
			err := serveSQL(t, s).SetPassword(t.Context(), secret)
			if err == nil || errors.Is(err, ErrPasswordSet) || strings.Contains(err.Error(), "S3cret") {
				t.Errorf("got %v", err)
			}
			if n := len(s.Seen().Statements); n != 1 {
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
			s := &tidbtest.Server{TLS: tt.server}
			root := serveSQL(t, s)
			root.TLS = &tls.Config{RootCAs: tt.trusts, ServerName: "example.com"}
			err := root.SetPassword(t.Context(), secret)
			if got := s.Seen(); (err == nil) != tt.ok || got.Encrypted != tt.ok || len(got.Statements) > 0 != tt.ok {
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
