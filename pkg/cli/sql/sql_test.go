package sql

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/test/tidbtest"
)

// dialer reaches servers by the names of their pods.
type dialer struct {
	servers map[string]*tidbtest.Server
	asked   []string
}

func (d *dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	pod, _, _ := strings.Cut(addr, ".")
	d.asked = append(d.asked, pod)
	if s := d.servers[pod]; s != nil {
		return s.Dial(ctx, network, addr)
	}
	return nil, errors.New("the pod does not run")
}

func (d *dialer) Close() error { return nil }

// server returns a pod of TiDB.
func server(name string, is corev1.ConditionStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: name, Labels: cluster().Labels(topology.TiDB)},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: is}}},
	}
}

func cluster() topology.Cluster {
	tc := &v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"}}
	tc.Spec.TiDB = &v1alpha1.TiDBSpec{Replicas: 2}
	return topology.New(tc)
}

func secret(password string) runtime.Object {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic-init"}, Data: map[string][]byte{"root": []byte(password)}}
}

// connected returns a session of flags, and what it writes.
func connected(t *testing.T, in io.Reader, d *dialer, objects []runtime.Object, flags ...string) (s session, out *bytes.Buffer) {
	t.Helper()
	for _, one := range d.servers {
		one.Start(t)
	}
	out = &bytes.Buffer{}
	f := factory.New(genericiooptions.IOStreams{In: in, Out: out, ErrOut: io.Discard}, func(string) string { return "" }, "")
	cmd := command(f, func(_ context.Context, o options) error {
		s = session{Factory: f, options: o, kube: fake.NewClientset(objects...), members: dial.Of(dial.Any(d), cluster()), cluster: cluster()}
		return nil
	})
	cmd.SetArgs(append([]string{"basic"}, flags...))
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	return s, out
}

// orders are rows of several types.
var orders = tidbtest.Result{
	Columns: []tidbtest.Column{{Name: "id", Type: tidbtest.Int}, {Name: "note", Type: tidbtest.Text}, {Name: "price", Type: tidbtest.Decimal}, {Name: "id", Type: tidbtest.Int}, {Name: "tags", Type: tidbtest.JSON}},
	Rows: [][]any{
		{"7", `a "b", <c>`, "9.90", "8", `{"x": [1]}`},
		{"9", nil, "0.10", "7", "broken"},
		{"10", "\xff\x00", nil, nil, nil},
	},
}

// TestFormats: rows of each type in each format.
func TestFormats(t *testing.T) {
	for format, want := range map[string]string{
		"table": "id   note         price   id     tags\n7    a \"b\", <c>   9.90    8      {\"x\": [1]}\n9    NULL         0.10    7      broken\n10   0xff00       NULL    NULL   NULL\n",
		"csv":   "id,note,price,id,tags\n7,\"a \"\"b\"\", <c>\",9.90,8,\"{\"\"x\"\": [1]}\"\n9,NULL,0.10,7,broken\n10,0xff00,NULL,NULL,NULL\n",
		"json": `[
  {"id": 7, "note": "a \"b\", <c>", "price": "9.90", "id_2": 8, "tags": {"x": [1]}},
  {"id": 9, "note": null, "price": "0.10", "id_2": 7, "tags": "broken"},
  {"id": 10, "note": "0xff00", "price": null, "id_2": null, "tags": null}
]
`,
	} {
		one := &tidbtest.Server{Rows: map[string][]tidbtest.Result{"SELECT * FROM orders": {orders}}}
		d := &dialer{servers: map[string]*tidbtest.Server{"basic-tidb-0": one}}
		s, out := connected(t, nil, d, []runtime.Object{server("basic-tidb-0", corev1.ConditionTrue)}, "-e", "SELECT * FROM orders", "-o", format, "-D", "shop", "-u", "app")
		if err := s.send(t.Context(), s.execute); err != nil || out.String() != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", format, err, out, want)
		}
		if got := one.Seen(); got.Users[0] != "app" || got.Databases[0] != "shop" {
			t.Errorf("%+v", got)
		}
	}
}

// TestSeveral: each of several statements prints its rows, one without rows prints nothing, and
// after an error of TiDB, whose text is kept, nothing else is sent.
func TestSeveral(t *testing.T) {
	one := tidbtest.Result{Columns: []tidbtest.Column{{Name: "n", Type: tidbtest.Int}}, Rows: [][]any{{"1"}}}
	none, broken := tidbtest.Result{Columns: one.Columns}, one
	broken.Fails = 1317
	script := "SELECT 1; INSERT INTO t VALUES (1); SELECT n FROM t"
	rows := map[string][]tidbtest.Result{script: {one, {}, none}, "SELECT 1": {one}, "SELECT sleep(9)": {broken}}
	for _, c := range []struct {
		name   string
		flags  []string
		refuse uint16
		out    string
		says   string
		sent   int
	}{
		{"a script", []string{"-e", script, "-o", "json"}, 0, "[\n  {\"n\": 1}\n]\n[]\n", "", 1},
		{"two statements", []string{"-e", "SELECT 1", "-e", "SELECT 1", "-o", "csv"}, 0, "n\n1\nn\n1\n", "", 2},
		{"bad SQL", []string{"-e", "SELEC 1", "-e", "SELECT 1"}, 1064, "", "Error 1064 (HY000): near", 1},
		{"an error after rows", []string{"-e", "SELECT sleep(9)", "-e", "SELECT 1", "-o", "csv"}, 0, "n\n1\n", "Error 1317", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			tidb := &tidbtest.Server{Rows: rows, Refuse: c.refuse}
			d := &dialer{servers: map[string]*tidbtest.Server{"basic-tidb-0": tidb}}
			s, out := connected(t, nil, d, []runtime.Object{server("basic-tidb-0", corev1.ConditionTrue)}, c.flags...)
			err := s.send(t.Context(), s.execute)
			if (err != nil) != (c.says != "") || err != nil && (exit.Of(err) != exit.Failure || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%v, want %q", err, c.says)
			}
			if got := tidb.Seen(); out.String() != c.out || len(got.Statements) != c.sent || len(got.Users) != 1 {
				t.Errorf("%q after %+v; want %q", out, got, c.out)
			}
		})
	}
}

// TestLogin: with which password, and to which server.
func TestLogin(t *testing.T) {
	yes, no := corev1.ConditionTrue, corev1.ConditionFalse
	both := []runtime.Object{server("basic-tidb-1", yes), server("basic-tidb-0", yes)}
	for _, c := range []struct {
		name    string
		objects []runtime.Object
		flags   string
		in      string
		login   uint16
		code    exit.Code
		user    string // and an asterisk for each byte that a password is sent as
		says    string
	}{
		{"no password", both, "", "", 0, 0, "root", ""},
		{"the first password", append(both, secret("first")), "", "", 0, 0, "root" + strings.Repeat("*", 20), ""},
		{"of another user", append(both, secret("first")), "-u app", "", 0, 0, "app", ""},
		{"asked for", append(both, secret("first")), "-p", "mine\n", 0, 0, "root" + strings.Repeat("*", 20), ""},
		{"from standard input", both, "--password-stdin", "mine\r\n", 0, 0, "root" + strings.Repeat("*", 20), ""},
		{"the first one was changed", append(both, secret("first")), "", "", 1045, 1, "", "Secret basic-init has the first password of root, which is not its password any more"},
		{"it is needed", both, "", "", 1045, 1, "", "give the password with -p, or with --password-stdin"},
		{"it is wrong", both, "-p", "mine\n", 1045, 1, "", "Error 1045"},
		{"too many connections", both, "", "", 1040, 1, "", "Error 1040"},
		{"none is ready", []runtime.Object{server("basic-tidb-0", no)}, "", "", 0, 3, "", "no TiDB server of cluster db/basic is ready"},
		{"none can be reached", []runtime.Object{server("basic-tidb-0", yes)}, "", "", 0, 1, "", "connect to TiDB of cluster db/basic: the pod does not run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tidb := &tidbtest.Server{Login: c.login}
			d := &dialer{servers: map[string]*tidbtest.Server{"basic-tidb-1": tidb}}
			s, _ := connected(t, strings.NewReader(c.in), d, c.objects, append(strings.Fields(c.flags), "-e", "SELECT 1")...)
			err := s.send(t.Context(), s.execute)
			if exit.Of(err) != c.code || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v, exit code %d; want %d, %q", err, exit.Of(err), c.code, c.says)
			}
			if c.code == 0 && (tidb.Seen().Users[0] != c.user || strings.Join(d.asked, " ") != "basic-tidb-0 basic-tidb-1") {
				t.Errorf("as %q, asked %q", tidb.Seen().Users, d.asked)
			}
		})
	}
	s := session{}
	if _, err := s.servers(t.Context()); exit.Of(err) != exit.Refused {
		t.Errorf("a cluster without TiDB: %v", err)
	}
}

func TestFlags(t *testing.T) {
	empty, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	for _, c := range []struct {
		args     string
		terminal bool
		says     string
	}{
		{"basic", true, ""},
		{"basic -- --auto-rehash", true, ""},
		{"-- --auto-rehash", true, ""},
		{"basic -e x -p", true, ""},
		{"basic", false, ""},
		{"basic -e x --password-stdin", false, ""},
		{"basic other", true, "there is one cluster to name"},
		{"basic -p --password-stdin -e x", true, "-p does not go with --password-stdin"},
		{"basic -p -e x", false, "-p asks for the password in a terminal"},
		{"basic --password-stdin", false, "--password-stdin goes with -e"},
		{"basic -e x -- --auto-rehash", true, "arguments of a client"},
		{"basic -- --auto-rehash", false, "arguments of a client"},
		{"basic -o json", true, "-o goes with -e"},
		{"basic -e x -o xml", true, "supported formats: table, json, csv"},
		{"basic --execute=", true, "-e is empty"},
	} {
		var in io.Reader = strings.NewReader("")
		if !c.terminal {
			in = empty
		}
		f := factory.New(genericiooptions.IOStreams{In: in, Out: io.Discard, ErrOut: io.Discard}, func(string) string { return "" }, "")
		ran := false
		cmd := command(f, func(context.Context, options) error { ran = true; return nil })
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(strings.Fields(c.args))
		if err := cmd.Execute(); ran != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s, terminal %t: ran %t, %v; want %q", c.args, c.terminal, ran, err, c.says)
		}
	}
}

// TestClient: the client gets what it needs in files that only this user can read, and its
// connections go to the server.
func TestClient(t *testing.T) {
	folder := t.TempDir()
	program := filepath.Join(folder, "mariadb")
	const script = `#!/bin/sh
file=${1#--defaults-extra-file=}
ls -l "$file" | cut -c1-10
grep -v '^port' "$file"
shift
echo "$@"
exit 3
`
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":/bin:/usr/bin")
	tidb := &tidbtest.Server{}
	d := &dialer{servers: map[string]*tidbtest.Server{"basic-tidb-0": tidb}}
	objects := []runtime.Object{server("basic-tidb-0", corev1.ConditionTrue), secret(`a"b\c`)}
	s, out := connected(t, strings.NewReader(""), d, objects, "-D", "shop", "--", "--auto-rehash")
	err := s.open(t.Context())
	if exit.Of(err) != exit.Failure || !strings.Contains(err.Error(), "mariadb has ended with exit status 3") {
		t.Errorf("%v", err)
	}
	want := "-rw-------\n[client]\nprotocol=tcp\nhost=127.0.0.1\nuser=\"root\"\npassword=\"a\\\"b\\\\c\"\n--database=shop --auto-rehash\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out, want)
	}
	t.Setenv("PATH", "")
	err = s.open(t.Context())
	if exit.Of(err) != exit.Refused || !strings.Contains(err.Error(), "neither mysql nor mariadb is in the PATH; install one") {
		t.Errorf("%v", err)
	}
}
