package sql

import (
	"bytes"
	"context"
	dbsql "database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/term"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tidb"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// root is the user that the first password is for.
const root = "root"

// servers returns the hosts of the TiDB servers that are ready, the first one first.
func (s session) servers(ctx context.Context) ([]string, error) {
	c := s.cluster
	if _, ok := c.Group(topology.TiDB); !ok {
		return nil, exit.Refusef("cluster %s/%s has no TiDB server in its spec", c.Namespace, c.Name)
	}
	selector := labels.SelectorFromSet(c.Labels(topology.TiDB)).String()
	list, err := s.kube.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list pods in namespace %s: %w", c.Namespace, err)
	}
	var ordinals []int
	for _, p := range list.Items {
		if _, n, ok := c.Member(p.Name); ok && isReady(p) {
			ordinals = append(ordinals, n)
		}
	}
	slices.Sort(ordinals)
	var hosts []string
	for _, n := range ordinals {
		hosts = append(hosts, c.PodHost(topology.TiDB, n))
	}
	if len(hosts) == 0 {
		return nil, remedy.For(exit.Refusef("no TiDB server of cluster %s/%s is ready", c.Namespace, c.Name), remedy.Run("see why", c.Plugin("status")))
	}
	return hosts, nil
}

func isReady(p corev1.Pod) bool { return p.DeletionTimestamp == nil && state.Ready(&p) }

// password returns the password to log in with, and the Secret that it is from, "" for none.
func (s session) password(ctx context.Context) (password, secret string, err error) {
	switch {
	case s.known != nil:
		return *s.known, "", nil
	case s.reads:
		text, err := s.Input(ctx, io.ReadAll)
		line, _, _ := bytes.Cut(text, []byte("\n"))
		return strings.TrimSuffix(string(line), "\r"), "", err
	case s.asks:
		fmt.Fprintf(s.Streams.ErrOut, "Password of %s: ", s.User)
		text, err := s.Input(ctx, secretLine)
		fmt.Fprintln(s.Streams.ErrOut)
		return string(text), "", err
	case s.User != root:
		return "", "", nil
	}
	name := s.cluster.InitSecret()
	got, err := s.kube.CoreV1().Secrets(s.cluster.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), denial.Missing(err):
		return "", "", nil // TiDB says whether root has a password
	case err != nil:
		return "", "", fmt.Errorf("get secret %s: %w", name, err)
	case len(got.Data[topology.KeyRoot]) == 0:
		return "", "", nil
	}
	return string(got.Data[topology.KeyRoot]), name, nil
}

// secretLine reads a line that a terminal does not show.
func secretLine(in io.Reader) ([]byte, error) {
	file, ok := in.(*os.File)
	if !ok {
		text, err := io.ReadAll(in)
		line, _, _ := bytes.Cut(text, []byte("\n"))
		return line, err
	}
	return term.ReadPassword(int(file.Fd()))
}

// login logs in to the first server that can be reached. It returns its address.
func (s session) login(ctx context.Context) (*dbsql.DB, tidb.Login, error) {
	hosts, err := s.servers(ctx)
	if err != nil {
		return nil, tidb.Login{}, err
	}
	own, err := tidb.ReadCredentials(ctx, s.kube, s.cluster)
	if err != nil {
		return nil, tidb.Login{}, err
	}
	password, secret, err := s.password(ctx)
	if err != nil {
		return nil, tidb.Login{}, err
	}
	var last error
	for _, host := range hosts {
		l := tidb.Login{
			Addr: fmt.Sprintf("%s:%d", host, topology.TiDBServerPort), User: s.User, Password: password, Database: s.database, Dial: s.members.DialContext,
		}
		if l.TLS, err = own.Config(host); err != nil {
			return nil, l, err
		}
		db, err := l.Open()
		if err != nil {
			return nil, l, err
		}
		if last = db.PingContext(ctx); last == nil {
			return db, l, nil
		}
		_ = db.Close()
		if ctx.Err() != nil {
			return nil, l, context.Cause(ctx)
		}
		if _, answered := errors.AsType[*mysql.MySQLError](last); answered {
			return nil, l, s.denied(last, secret)
		}
	}
	return nil, tidb.Login{}, fmt.Errorf("connect to TiDB of cluster %s/%s: %w", s.cluster.Namespace, s.cluster.Name, last)
}

// denied says what to do about a login that a server has refused.
func (s session) denied(err error, secret string) error {
	switch {
	case !tidb.Denied(err):
		return err
	case secret != "":
		return remedy.For(fmt.Errorf("%w: Secret %s has the first password of root, which is not its password any more", err, secret),
			remedy.Say("give it with -p, or with --password-stdin"))
	case s.asks || s.reads:
		return err
	}
	return remedy.For(err, remedy.Say("give the password with -p, or with --password-stdin"))
}
