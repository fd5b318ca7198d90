// Package tidbtest has as much of a TiDB server as a login, and a statement, need.
package tidbtest

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// Server answers logins and statements as its fields say, and keeps what it has seen.
type Server struct {
	TLS    *tls.Config // nil: it has none
	Login  uint16      // the error with which it refuses logins, 0 for none
	Refuse uint16      // the same for statements
	Hangup bool        // it ends the connection instead of an answer to a statement
	// Rows are the answers to statements: for each of them its results, since a text can have several
	// statements. Other statements have no rows.
	Rows map[string][]Result

	listener net.Listener
	mu       sync.Mutex
	seen     Seen
}

// Result is what a statement returns.
type Result struct {
	Columns []Column
	Rows    [][]any // texts, and nil
	// Fails is the error after the rows, 0 for none.
	Fails uint16
}

// Column is a column with its type in the protocol.
type Column struct {
	Name string
	Type byte
}

// The types of columns.
const (
	Int     byte = 3
	Text    byte = 253
	Decimal byte = 246
	JSON    byte = 245
)

// Seen is what a server has seen.
type Seen struct {
	Statements []string
	Users      []string // who has logged in, and an asterisk for each byte of a password
	Databases  []string
	Encrypted  bool
}

const (
	connectWithDB  = 0x8
	connectWithTLS = 0x800
	capabilities   = 0x1 | connectWithDB | 0x200 | 0x2000 | 0x8000 | 0x10000 | 0x20000 | 0x80000
	moreResults    = 0x8
)

// Start has it serve until the test ends.
func (s *Server) Start(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.listener = l
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
}

// Dial connects to the server, whatever the address is.
func (s *Server) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, s.listener.Addr().String())
}

// Seen returns what the server has seen so far.
func (s *Server) Seen() Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

func (s *Server) note(change func(*Seen)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.seen)
}

func (s *Server) serve(conn net.Conn) {
	defer conn.Close()
	send(conn, 0, s.hello())
	number, packet, err := receive(conn)
	if err == nil && binary.LittleEndian.Uint32(packet)&connectWithTLS != 0 {
		conn = tls.Server(conn, s.TLS)
		number, packet, err = receive(conn)
	}
	if err != nil {
		return
	}
	user, rest, _ := bytes.Cut(packet[32:], []byte{0})
	s.note(func(d *Seen) {
		d.Users = append(d.Users, string(user)+strings.Repeat("*", int(rest[0])))
		_, d.Encrypted = conn.(*tls.Conn)
		if binary.LittleEndian.Uint32(packet)&connectWithDB != 0 {
			name, _, _ := bytes.Cut(rest[1+int(rest[0]):], []byte{0})
			d.Databases = append(d.Databases, string(name))
		}
	})
	if answer(conn, number+1, s.Login); s.Login != 0 {
		return
	}
	for {
		number, packet, err := receive(conn)
		switch {
		case err != nil, packet[0] == 1: // the client ends
			return
		case packet[0] == 14: // a ping
			answer(conn, number+1, 0)
			continue
		}
		statement := string(packet[1:])
		s.note(func(d *Seen) { d.Statements = append(d.Statements, statement) })
		if s.Hangup {
			return
		}
		s.reply(conn, number+1, s.Rows[statement])
	}
}

func (s *Server) hello() []byte {
	can := uint32(capabilities)
	if s.TLS != nil {
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
	return append(hello, "abcdefghijkl\x00mysql_native_password\x00"...)
}

// reply answers a text of statements.
func (s *Server) reply(conn io.Writer, number byte, results []Result) {
	if s.Refuse != 0 || len(results) == 0 {
		answer(conn, number, s.Refuse)
		return
	}
	for i, r := range results {
		flags := byte(2)
		if i+1 < len(results) {
			flags |= moreResults
		}
		if number = r.send(conn, number, flags); r.Fails != 0 {
			return
		}
	}
}

// send sends a result, and returns the number of the next packet.
func (r Result) send(conn io.Writer, number, flags byte) byte {
	put := func(body []byte) { send(conn, number, body); number++ }
	if len(r.Columns) == 0 {
		put([]byte{0, 0, 0, flags, 0, 0, 0})
		return number
	}
	put([]byte{byte(len(r.Columns))})
	for _, c := range r.Columns {
		body := []byte("\x03def\x00\x00\x00")
		body = append(append(body, byte(len(c.Name))), c.Name...)
		body = append(body, 0, 12, 45, 0, 255, 0, 0, 0, c.Type, 0, 0, 0, 0, 0)
		put(body)
	}
	put([]byte{254, 0, 0, flags, 0})
	for _, row := range r.Rows {
		var body []byte
		for _, v := range row {
			if text, ok := v.(string); ok {
				body = append(append(body, byte(len(text))), text...)
			} else {
				body = append(body, 251)
			}
		}
		put(body)
	}
	if r.Fails != 0 {
		answer(conn, number, r.Fails)
		return number + 1
	}
	put([]byte{254, 0, 0, flags, 0})
	return number
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
		send(conn, number, []byte{0, 0, 0, 2, 0, 0, 0})
		return
	}
	body := binary.LittleEndian.AppendUint16([]byte{255}, code)
	send(conn, number, append(body, "#HY000near 'S3cret-'\\x"...))
}
