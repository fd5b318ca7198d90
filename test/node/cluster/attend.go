package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/kubeapi"
	"github.com/kubectl-tidb/kubectl-tidb/test/node/netns"
	"github.com/kubectl-tidb/kubectl-tidb/test/node/volume"
)

// Attend is the node's own daemon: it forwards the API server's port to the ordinary network namespace and makes
// released volumes available again.
func Attend(layout Layout) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	state, err := layout.LoadState()
	if err != nil {
		return err
	}
	dialer, err := netns.NewDialer(netns.Namespace{Name: layout.Name()})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(state.Port))
	if err != nil {
		return fmt.Errorf("listen on the forwarded port: %w", err)
	}
	go func() {
		<-ctx.Done()
		listener.Close()
	}()
	client, err := kubeapi.New("https://"+apiAddress, layout.PKI(), adminUser, dialer.Dial)
	if err != nil {
		return err
	}
	go volume.Recycle(ctx, client, layout.Volumes(), func(err error) {
		fmt.Fprintf(os.Stderr, "%s %v\n", time.Now().Format(time.RFC3339), err)
	})
	return dialer.Forward(ctx, listener, apiAddress)
}
