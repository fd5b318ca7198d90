// Package workload writes rows into a TiDB cluster without a pause and keeps
// account of how that went, as an application would feel it.
package workload

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// Service connects to any TiDB server that is ready and not stopping, which is
// what a Kubernetes Service does for clients in the cluster.
type Service struct {
	Kube               kubernetes.Interface
	Pods               *dial.Pods
	Namespace, Cluster string
	// TLS makes connections use it, with the certificate that the Secret of SQL clients has at that
	// moment.
	TLS bool
	// Password is that of root, "" for none. It needs no quotes in a data source name.
	Password string
}

// Dial opens a connection to a server.
func (s Service) Dial(ctx context.Context) (net.Conn, error) {
	list, err := s.Kube.CoreV1().Pods(s.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/component=tidb,app.kubernetes.io/instance=" + s.Cluster,
	})
	if err != nil {
		return nil, err
	}
	var ready []string
	for _, p := range list.Items {
		if p.DeletionTimestamp == nil && Ready(&p) {
			ready = append(ready, p.Name)
		}
	}
	if len(ready) == 0 {
		return nil, errors.New("no TiDB server is ready")
	}
	return s.Pods.Forward(ctx, s.Namespace, ready[rand.IntN(len(ready))], 4000)
}

// Ready reports whether a Service sends clients to a pod.
func Ready(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Open is a SQL client of the service, with one connection.
func (s Service) Open(name string) (*sql.DB, error) {
	mysql.RegisterDialContext(name, func(ctx context.Context, _ string) (net.Conn, error) { return s.Dial(ctx) })
	source := fmt.Sprintf("root:%s@%s(tidb)/test?timeout=5s&readTimeout=10s&writeTimeout=10s", s.Password, name)
	if s.TLS {
		if err := mysql.RegisterTLSConfig(name, s.certificates()); err != nil {
			return nil, err
		}
		source += "&tls=" + name
	}
	db, err := sql.Open("mysql", source)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// certificates is a configuration that reads the Secret of SQL clients for each connection, as a client
// does that mounts it.
func (s Service) certificates() *tls.Config {
	read := func() (map[string][]byte, error) {
		got, err := s.Kube.CoreV1().Secrets(s.Namespace).Get(context.Background(), s.Cluster+"-tidb-client-secret", metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return got.Data, nil
	}
	return &tls.Config{
		InsecureSkipVerify: true, // VerifyConnection does it, with the authorities of that moment
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			data, err := read()
			if err != nil {
				return nil, err
			}
			pair, err := tls.X509KeyPair(data["tls.crt"], data["tls.key"])
			return &pair, err
		},
		VerifyConnection: func(c tls.ConnectionState) error {
			data, err := read()
			if err != nil {
				return err
			}
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(data["ca.crt"])
			_, err = c.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, DNSName: s.Cluster + "-tidb." + s.Namespace + ".svc"})
			return err
		},
	}
}

// Account is how the writes went.
type Account struct {
	Written int
	Retried int // writes that came through at the second attempt
	Failed  []error
	Longest time.Duration // the longest a write took, its retry included
	Stalls  []Stall       // writes that took more than a second
}

// Stall is a write that took long.
type Stall struct {
	At   time.Time
	Took time.Duration
}

func (s Stall) String() string {
	return fmt.Sprintf("%v at %s", s.Took.Round(time.Millisecond), s.At.Format("15:04:05.000"))
}

func (a Account) String() string {
	return fmt.Sprintf("%d rows written, %d at the second attempt, %d failed, longest stall %v",
		a.Written, a.Retried, len(a.Failed), a.Longest.Round(time.Millisecond))
}

// Writer writes a row at each interval until it is stopped.
type Writer struct {
	db     *sql.DB
	table  string
	stop   context.CancelFunc
	done   chan struct{}
	mutex  sync.Mutex
	result Account
}

// Table makes a table to write to, if there is none.
func Table(ctx context.Context, db *sql.DB, name string) error {
	if _, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+name+" (id BIGINT PRIMARY KEY, note VARCHAR(64))"); err != nil {
		return fmt.Errorf("create table: %w", err)
	}
	return nil
}

// Start makes the table and begins to write.
func Start(ctx context.Context, db *sql.DB, table string, interval time.Duration) (*Writer, error) {
	if err := Table(ctx, db, table); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	w := &Writer{db: db, table: table, stop: stop, done: make(chan struct{})}
	go w.run(ctx, interval)
	return w, nil
}

func (w *Writer) run(ctx context.Context, interval time.Duration) {
	defer close(w.done)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for id := int64(1); ; id++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		w.write(context.WithoutCancel(ctx), id)
	}
}

// write inserts a row. A connection that the server has closed is tried again
// once, as every connection pool does; the row's key makes that safe.
func (w *Writer) write(ctx context.Context, id int64) {
	begun := time.Now()
	err := w.insert(ctx, id)
	retried := false
	if closed(err) {
		retried = true
		err = w.insert(ctx, id)
	}
	took := time.Since(begun)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.result.Longest = max(w.result.Longest, took)
	if took > time.Second {
		w.result.Stalls = append(w.result.Stalls, Stall{begun, took})
	}
	switch {
	case err != nil:
		w.result.Failed = append(w.result.Failed, fmt.Errorf("row %d at %s: %w", id, begun.Format("15:04:05.000"), err))
	case retried:
		w.result.Retried++
		fallthrough
	default:
		w.result.Written++
	}
}

func (w *Writer) insert(ctx context.Context, id int64) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	_, err := w.db.ExecContext(ctx, "REPLACE INTO "+w.table+" VALUES (?, ?)", id, fmt.Sprint("row ", id))
	return err
}

// shutdown is what a TiDB server that is stopping answers.
const shutdown = 1053

// closed reports whether an error is a closed connection, and not an answer of the database.
func closed(err error) bool {
	var answer *mysql.MySQLError
	if errors.As(err, &answer) {
		return answer.Number == shutdown
	}
	return err != nil && !errors.Is(err, context.DeadlineExceeded)
}

// Stop ends the writing and returns the account.
func (w *Writer) Stop() Account {
	w.stop()
	<-w.done
	return w.Now()
}

// Now is the account so far.
func (w *Writer) Now() Account {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.result
}

// Verify reads all rows back: each one that was written must be there.
func (a Account) Verify(ctx context.Context, db *sql.DB, table string) error {
	var count, distinct int
	row := db.QueryRowContext(ctx, "SELECT COUNT(*), COUNT(DISTINCT id) FROM "+table+" WHERE note = CONCAT('row ', id)")
	if err := row.Scan(&count, &distinct); err != nil {
		return fmt.Errorf("read rows back: %w", err)
	}
	// A write that failed may have come through all the same.
	if count < a.Written || count > a.Written+len(a.Failed) || count != distinct {
		return fmt.Errorf("%d rows were written and %d are there", a.Written, count)
	}
	return nil
}
