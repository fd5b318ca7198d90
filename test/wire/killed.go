package wire

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

// Killed runs a command, and kills the command in the second in which something holds. Nothing that the command sends
// after that arrives, so the command takes nothing back.
func (w *World) Killed(ctx context.Context, when func() bool, args ...string) Result {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &process{world: w}
	ended := make(chan Result)
	go func() { ended <- w.run(ctx, p.dial, args...) }()
	for {
		if r := w.waitFor(ended); r != nil {
			return *r
		}
		if when() {
			p.kill()
			cancel()
			return w.await(ended)
		}
	}
}

// waitFor lets a second pass, and returns what a command has ended with, nil where the command goes on.
func (w *World) waitFor(ended <-chan Result) *Result {
	w.leave()
	defer w.hold()
	select {
	case r := <-ended:
		return &r
	case <-time.After(time.Second):
		return nil
	}
}

// await waits for the end of a command.
func (w *World) await(ended <-chan Result) Result {
	w.leave()
	defer w.hold()
	return <-ended
}

// process is a command as the network has it.
type process struct {
	world  *World
	cancel context.CancelFunc // nil where the script has it

	mu    sync.Mutex
	dead  bool
	conns []net.Conn
}

var errKilled = errors.New("the process was killed")

func (p *process) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if p.isDead() {
		return nil, errKilled
	}
	c, err := p.world.network.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, c)
	return c, nil
}

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// kill ends the connections of the process, and lets the process make no others.
func (p *process) kill() {
	p.mu.Lock()
	p.dead = true
	all := slices.Clone(p.conns)
	p.mu.Unlock()
	for _, c := range all {
		_ = c.Close()
	}
}
