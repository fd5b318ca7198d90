//go:build linux

package loopback

import (
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/build"
)

// What the S3 server takes.
const accessKey, secretKey, bucket = "test-access", "test-secret", "backups"

// database is PD, stores and TiDB beside an S3 server.
type database struct {
	programs build.Set
	folder   string
	pd, s3   string
	tls      certificates
	sql      *sql.DB
}

// stores is how many there are: regions have as many replicas, and each store leads some of them.
const stores = 3

func start(t *testing.T, c certificates) *database {
	t.Helper()
	d := &database{programs: programs(t), folder: t.TempDir(), tls: c}
	peers, tidb, status := address(t), address(t), address(t)
	d.pd, d.s3 = address(t), address(t)
	d.run(t, build.S3, []string{
		"S3_ADDRESS=" + d.s3, "S3_BUCKET=" + bucket, "S3_ACCESS_KEY=" + accessKey, "S3_SECRET_KEY=" + secretKey,
	})
	scheme := c.scheme() + "://"
	d.run(t, build.Versioned(build.PD, build.OldVersion), nil, append(c.flags("cacert"), "--name=pd",
		"--data-dir="+filepath.Join(d.folder, "pd"), "--client-urls="+scheme+d.pd, "--peer-urls="+scheme+peers,
		"--initial-cluster=pd="+scheme+peers)...)
	configuration := d.configure(t, "tikv.toml", c.section("ca-path", "cert-path", "key-path"))
	for i := range stores {
		d.run(t, build.Store, []string{"STORE_VERSION=" + build.OldVersion}, "--pd="+d.pd, "--addr="+address(t),
			"--status-addr="+address(t), "--config="+configuration, "--data-dir="+filepath.Join(d.folder, fmt.Sprintf("store%d", i)))
	}
	waitFor(t, "all stores in PD", d.storesAreUp)
	d.startTiDB(t, tidb, status)
	return d
}

func (d *database) startTiDB(t *testing.T, address, status string) {
	t.Helper()
	host, port, _ := net.SplitHostPort(address)
	_, statusPort, _ := net.SplitHostPort(status)
	// Another TiDB on this machine has the usual folder.
	content := fmt.Sprintf("tmp-storage-path = %q\n", filepath.Join(d.folder, "tmp"))
	configuration := d.configure(t, "tidb.toml", content+d.tls.section("cluster-ssl-ca", "cluster-ssl-cert", "cluster-ssl-key"))
	d.run(t, build.Versioned(build.TiDB, build.OldVersion), nil, "--store=tikv", "--path="+d.pd, "--host="+host, "-P="+port,
		"--status="+statusPort, "--status-host="+host, "--config="+configuration, "--socket=")
	var err error
	if d.sql, err = sql.Open("mysql", "root@tcp("+address+")/"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.sql.Close() })
	waitFor(t, "TiDB", d.sql.Ping)
}

func (d *database) configure(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(d.folder, name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func (d *database) storesAreUp() error {
	var found struct{ Count int }
	if err := d.ask("stores", &found); err != nil {
		return err
	}
	if found.Count != stores {
		return fmt.Errorf("there are %d stores", found.Count)
	}
	return nil
}

// run starts a program that is ended with the test. What it wrote is shown if the test fails.
func (d *database) run(t *testing.T, part string, environment []string, arguments ...string) {
	t.Helper()
	path := filepath.Join(d.folder, fmt.Sprintf("%s-%d.log", part, time.Now().UnixNano()))
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	command := exec.Command(d.programs[part], arguments...)
	command.Dir, command.Stdout, command.Stderr = d.folder, log, log
	command.Env = append(os.Environ(), environment...)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGKILL)
		_ = command.Wait()
		if t.Failed() {
			t.Logf("the end of the log of %s:\n%s", part, tail(path))
		}
	})
}

func tail(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	const most = 3000
	return string(content[max(0, len(content)-most):])
}

// address returns one on which nobody listens.
func address(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// waitFor tries again until a condition holds.
func waitFor(t *testing.T, what string, condition func() error) {
	t.Helper()
	const patience = 2 * time.Minute
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	deadline := time.Now().Add(patience)
	for {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s: %v", what, patience, err)
		}
		<-again.C
	}
}
