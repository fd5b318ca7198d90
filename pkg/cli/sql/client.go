package sql

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tidb"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/harmless"
)

// clients are the programs that can be run, the preferred one first.
var clients = []string{"mysql", "mariadb"}

// open runs a client of this machine on a connection to a server.
func (s session) open(ctx context.Context) error {
	program, err := client()
	if err != nil {
		return remedy.For(err,
			remedy.Say("install one, which packages mysql-client or mariadb-client have"),
			remedy.Run("give statements", s.cluster.Plugin("sql", "-e", "SELECT 1")))
	}
	db, login, err := s.login(ctx) // a wrong password is found before the client is run
	if err != nil {
		return err
	}
	_ = db.Close()
	own, err := tidb.ReadCredentials(ctx, s.kube, s.cluster)
	if err != nil {
		return err
	}
	local, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the client: %w", err)
	}
	folder, err := os.MkdirTemp("", "kubectl-tidb-")
	if err != nil {
		return fmt.Errorf("make a folder for the client: %w", err)
	}
	defer os.RemoveAll(folder)
	settings, err := configure(folder, local.Addr().(*net.TCPAddr).Port, login, own)
	if err != nil {
		return err
	}
	forwarding, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		dial.Forward(forwarding, local, func(ctx context.Context) (net.Conn, error) { return s.members.DialContext(ctx, "tcp", login.Addr) },
			func(err error) { fmt.Fprintln(s.Streams.ErrOut, "connect to TiDB:", err) })
	}()
	defer func() { stop(); <-ended }()
	return s.runs(program, settings)
}

// runs runs the client, which ends with this command. An interrupt is for the client alone: it ends
// a statement, and not the session.
func (s session) runs(program, settings string) error {
	args := []string{"--defaults-extra-file=" + settings}
	if s.database != "" {
		args = append(args, "--database="+s.database)
	}
	cmd := exec.Command(program, append(args, s.client...)...) //nolint:noctx // it ends with the terminal, and not with an interrupt
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Streams.In, harmless.Under(s.Streams.Out), harmless.Under(s.Streams.ErrOut)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run %s: %w", program, err)
	}
	signal.Ignore(os.Interrupt) // only now: the client would inherit it
	defer signal.Reset(os.Interrupt)
	err := cmd.Wait()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.With(exit.Failure, fmt.Errorf("%s has ended with %w", filepath.Base(program), ended))
	}
	return err
}

func client() (string, error) {
	for _, name := range clients {
		if found, err := exec.LookPath(name); err == nil {
			return found, nil
		}
	}
	return "", exit.Refusef("there is no client for SQL on this machine: neither %s is in the PATH", strings.Join(clients, " nor "))
}

// configure writes what the client has to know into files that only this user can read. Arguments of a process can
// be read by other users. It returns the name of the file.
func configure(folder string, port int, login tidb.Login, own *tidb.Credentials) (string, error) {
	write := func(name string, text []byte) (string, error) {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return "", fmt.Errorf("write %s for the client: %w", name, err)
		}
		return file, nil
	}
	lines := []string{"[client]", "protocol=tcp", "host=127.0.0.1", fmt.Sprintf("port=%d", port), "user=" + option(login.User)}
	if login.Password != "" {
		lines = append(lines, "password="+option(login.Password))
	}
	if own != nil {
		// The server is known by the pod that the connection goes to, and a certificate names no address of this
		// machine. So only the certificate's authority is checked.
		mode := "REQUIRED"
		if len(own.CA) > 0 {
			mode = "VERIFY_CA"
		}
		lines = append(lines, "loose-ssl-mode="+mode, "loose-ssl-verify-server-cert=0")
		for name, text := range map[string][]byte{"ca": own.CA, "cert": own.Certificate, "key": own.Private} {
			if len(text) == 0 {
				continue
			}
			file, err := write(name+".pem", text)
			if err != nil {
				return "", err
			}
			lines = append(lines, "ssl-"+name+"="+option(file))
		}
	}
	return write("client.cnf", []byte(strings.Join(lines, "\n")+"\n"))
}

// option quotes a value in a file of options.
func option(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}
