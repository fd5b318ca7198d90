package dial

import (
	"context"
	"io"
	"net"
	"sync"
)

// Forward connects each connection to a local listener with a new one that dial opens. When ctx ends it closes the
// listener and all connections. What fails is given to failed, and ends only the connection that it is about.
func Forward(ctx context.Context, l net.Listener, dial func(context.Context) (net.Conn, error), failed func(error)) {
	var all sync.WaitGroup
	defer all.Wait()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for {
		local, err := l.Accept()
		if err != nil {
			return // it was closed
		}
		all.Go(func() {
			defer local.Close()
			remote, err := dial(ctx)
			if err != nil {
				failed(err)
				return
			}
			defer remote.Close()
			join(ctx, local, remote)
		})
	}
}

// join copies in both directions until one of them ends, or ctx does.
func join(ctx context.Context, a, b net.Conn) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	context.AfterFunc(ctx, func() { _, _ = a.Close(), b.Close() })
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			defer done()
			_, _ = io.Copy(way[0], way[1]) // an end of one side is the end of both
		})
	}
	both.Wait()
}
