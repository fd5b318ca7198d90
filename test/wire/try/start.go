package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// start runs a model until ctx ends.
func start(ctx context.Context, folder string, speed int, out io.Writer) error {
	if _, err := asked(ctx, folder, []string{alive}); err == nil {
		return fmt.Errorf("a model runs already with %s; give another folder with -dir", kubeconfigIn(folder))
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	certificate, authority, err := issued()
	if err != nil {
		return err
	}
	w := newWorld(out, rand.Text(), speed)
	if err := writeKubeconfig(folder, "https://"+l.Addr().String(), authority, w.token); err != nil {
		return err
	}
	if err := os.WriteFile(manifestIn(folder), []byte(manifest), 0o600); err != nil {
		return err
	}
	server := &http.Server{
		Handler: w.handler(), TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}, ReadHeaderTimeout: time.Minute,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(l, "", "") }()
	fmt.Fprint(out, greeting(folder))
	ctx, end := context.WithCancel(ctx)
	defer end()
	go w.live(ctx)
	select {
	case <-ctx.Done():
		fmt.Fprintln(out, "the model has ended, and everything in it")
		return server.Close()
	case err := <-ended:
		return err
	}
}

func manifestIn(folder string) string { return filepath.Join(folder, "basic.yaml") }

// manifest is the cluster that is applied first.
const manifest = `apiVersion: pingcap.com/v1alpha1
kind: TidbCluster
metadata:
  name: basic
spec:
  version: v8.1.0
  pd:
    baseImage: pingcap/pd
    replicas: 3
    requests: {storage: 10Gi}
  tikv:
    baseImage: pingcap/tikv
    replicas: 3
    requests: {storage: 10Gi}
  tidb:
    baseImage: pingcap/tidb
    replicas: 2
    service: {type: ClusterIP}
`

// command is one that is printed, and what it shows.
type command struct{ line, shows string }

// ordinary returns the commands that a person tries first, in this order.
func ordinary(folder string) []command {
	return []command{
		{"kubectl-tidb apply -f " + manifestIn(folder) + " --yes", "a cluster of three PD members, three stores, two TiDB servers"},
		{"kubectl-tidb status basic", "its members, with leaders and regions"},
		{"kubectl-tidb scale basic tikv=4 tidb=3 --yes", "regions move to the new store"},
		{"kubectl-tidb upgrade basic v8.1.1 --canary tikv=1 --yes", "PD, then one store first"},
		{"kubectl-tidb promote basic --yes", "the other stores, and TiDB"},
		{"kubectl-tidb restart basic tidb --yes", "one server at a time"},
		{"kubectl-tidb doctor basic", "what is wrong, or will be"},
	}
}

// greeting says what runs, and prints commands to paste.
func greeting(folder string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `This is a MODEL of a Kubernetes cluster with PD, TiKV and TiDB. No database runs, and it holds no rows: no SQL
client can connect. What the plugin does, waits for and refuses is real. Ctrl-C here ends the model.

In another terminal, here:

  %s

`, environment(folder))
	for _, c := range ordinary(folder) {
		fmt.Fprintf(&b, "  %-55s # %s\n", c.line, c.shows)
	}
	fmt.Fprintf(&b, "\nThen break something, and see what the plugin says of it, or would not do:\n\n")
	for _, f := range faults {
		fmt.Fprintf(&b, "  %-55s # %s\n", program()+" break "+f.name, f.what)
	}
	for _, c := range []command{
		{program() + " pass 1m", "a minute later, at once; after host-1 or disk"},
		{"kubectl-tidb status basic", "names what is broken"},
		{"kubectl-tidb failover basic", "who is down, and what becomes of it"},
		{"kubectl-tidb failover basic run --yes", "replaces who is due; pass 40m meanwhile"},
		{program() + " mend", "all that is broken"},
	} {
		fmt.Fprintf(&b, "  %-55s # %s\n", c.line, c.shows)
	}
	b.WriteString("\n")
	return b.String()
}

// environment returns the command that sets what the others need.
func environment(folder string) string {
	bin, err := filepath.Abs("bin")
	if err != nil {
		bin = "bin"
	}
	if runtime.GOOS == "windows" {
		return fmt.Sprintf(`$env:KUBECONFIG = "%s"; $env:PATH = "%s;$env:PATH"`, kubeconfigIn(folder), bin)
	}
	return fmt.Sprintf(`export KUBECONFIG="%s" PATH="%s:$PATH"`, kubeconfigIn(folder), bin)
}

// program returns how this program is started.
func program() string {
	if name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"); name == "try" && !strings.Contains(os.Args[0], "go-build") {
		return name
	}
	return "go run ./test/wire/try"
}
