package netns

import (
	"io"
	"net"
	"testing"
)

// pair returns the two ends of a connection over the loopback interface.
func pair(t *testing.T) (*net.TCPConn, *net.TCPConn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	near, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return near.(*net.TCPConn), far.(*net.TCPConn)
}

func TestJoinPassesOnAHalfClosedConnection(t *testing.T) {
	client, outside := pair(t)
	inside, server := pair(t)
	go join(outside, inside)
	if _, err := client.Write([]byte("question")); err != nil {
		t.Fatal(err)
	}
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if question, err := io.ReadAll(server); err != nil || string(question) != "question" {
		t.Fatalf("server read %q, %v", question, err)
	}
	// The client has said all it had to say and must still get its answer.
	if _, err := server.Write([]byte("answer")); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if answer, err := io.ReadAll(client); err != nil || string(answer) != "answer" {
		t.Errorf("client read %q, %v", answer, err)
	}
}

func TestDialerNeedsItsNamespace(t *testing.T) {
	if _, err := NewDialer(Namespace{Name: "no-such-namespace"}); err == nil {
		t.Error("a namespace that is not there was entered")
	}
}
