package observe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/issue"
)

// overTLS is a TiDB server of a cluster with TLS that asks who connects for a certificate.
type overTLS struct {
	authority issue.Authority
	cluster   *v1alpha1.TidbCluster
	kube      *fake.Clientset
	observer  *Observer
	client    atomic.Value // the serial number of the client that asked last
}

func newOverTLS(t *testing.T) *overTLS {
	t.Helper()
	w := &overTLS{cluster: &v1alpha1.TidbCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"},
		Spec: v1alpha1.TidbClusterSpec{
			Version: "v8.1.0", TLSCluster: &v1alpha1.TLSCluster{Enabled: true}, TiDB: &v1alpha1.TiDBSpec{Replicas: 1},
		},
	}}
	var err error
	if w.authority, err = issue.NewAuthority("own", time.Now()); err != nil {
		t.Fatal(err)
	}
	c := topology.New(w.cluster)
	pod := runningPod(topology.TiDB, "basic-tidb-0")
	pod.Namespace, pod.Labels = "db", c.Labels(topology.TiDB)
	w.kube = fake.NewClientset([]runtime.Object{pod}...)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		w.client.Store(r.TLS.PeerCertificates[0].SerialNumber.String())
	}))
	pair, err := tls.X509KeyPair(w.content(t, c.MemberSecret(topology.TiDB)))
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(w.authority.Certificate)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted}
	server.StartTLS()
	t.Cleanup(server.Close)
	w.observer = New(w.kube, dial.Any(&network{to: server.Listener.Addr().String()}),
		func(context.Context) (*v1alpha1.TidbCluster, error) { return w.cluster, nil }, time.Now)
	return w
}

// content issues a new certificate, and writes it to its Secret.
func (w *overTLS) content(t *testing.T, secret string) (certificate, key []byte) {
	t.Helper()
	var data map[string][]byte
	for _, wanted := range topology.Certificates(topology.New(w.cluster)) {
		if wanted.Secret != secret {
			continue
		}
		var err error
		if data, err = w.authority.Issue(wanted, issue.CommonName, time.Now(), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	// The clientset of tests sets no version.
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: secret, ResourceVersion: time.Now().String()}, Data: data}
	secrets := w.kube.CoreV1().Secrets("db")
	if _, err := secrets.Create(t.Context(), s, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
		if _, err := secrets.Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return data[topology.KeyCertificate], data[topology.KeyPrivate]
}

func (w *overTLS) look(t *testing.T) (state.Snapshot, state.Member) {
	t.Helper()
	seen, err := w.observer.Observe(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	return seen.Snapshot, seen.Snapshot.Groups[topology.TiDB].Members[0]
}

// TestMembersAreAskedOverTLS: with the certificate in the Secret, and with another one as soon as
// that is renewed.
func TestMembersAreAskedOverTLS(t *testing.T) {
	w := newOverTLS(t)
	const client = "basic-cluster-client-secret"
	snap, m := w.look(t)
	if m.Database.Healthy || !snap.Certificates[client].Missing {
		t.Fatalf("asked without a certificate: %+v", m.Database)
	}
	if !strings.Contains(snap.PD.Problem, "no valid certificate") {
		t.Errorf("problem %q", snap.PD.Problem)
	}
	w.content(t, client)
	if _, m = w.look(t); !m.Database.Healthy {
		t.Fatalf("not asked: %+v", m.Database)
	}
	first, used := w.client.Load(), w.observer.http
	if w.look(t); w.observer.http != used {
		t.Error("new connections are made for the same certificate")
	}
	w.content(t, client)
	if _, m = w.look(t); !m.Database.Healthy || w.client.Load() == first {
		t.Errorf("the renewed certificate is not used: %+v", m.Database)
	}
}

// TestUnknownAuthority: who shows a certificate that cannot be verified is not asked, and is not
// taken for one that does not serve.
func TestUnknownAuthority(t *testing.T) {
	w := newOverTLS(t)
	var err error
	if w.authority, err = issue.NewAuthority("other", time.Now()); err != nil {
		t.Fatal(err)
	}
	w.content(t, "basic-cluster-client-secret")
	if _, m := w.look(t); m.Database.Presence != state.Unknown || m.Database.Answer != state.NoAnswer {
		t.Errorf("a server of an unknown authority: %+v", m.Database)
	}
}

// TestSecretsMayNotBeRead: what is forbidden is unknown, and names the right that is missing.
func TestSecretsMayNotBeRead(t *testing.T) {
	w := newOverTLS(t)
	w.kube.PrependReactor("get", "secrets", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, a.(clienttesting.GetAction).GetName(), nil)
	})
	snap, _ := w.look(t)
	if got := snap.Certificates["basic-tidb-cluster-secret"].Unread; got != "the right to get Secret basic-tidb-cluster-secret is missing" {
		t.Errorf("%q", got)
	}
}

// TestReadCertificate: a Secret that cannot be read or used is named, and nobody is asked with it.
func TestReadCertificate(t *testing.T) {
	w := newOverTLS(t)
	wanted := topology.Certificates(topology.New(w.cluster))[0]
	w.content(t, wanted.Secret)
	secrets := w.kube.CoreV1().Secrets("db")
	read := func(name string, usable bool, want certificate.Secret) {
		t.Helper()
		got, final := w.observer.readCertificate(t.Context(), "db", wanted)
		if s := got.secret; s.Name != wanted.Secret || s.Missing != want.Missing || s.Unread != want.Unread || s.Problem != want.Problem {
			t.Errorf("%s: %+v", name, s)
		}
		if with := got.credentials; usable != (with.config != nil) || usable != (with.secret != "") {
			t.Errorf("%s: %+v", name, with)
		}
		if awaited := want.Missing || want.Problem != "" || want.Unread != "" && !strings.Contains(want.Unread, "right"); final == awaited {
			t.Errorf("%s: it is not read again: %t", name, final)
		}
	}
	read("it is there", true, certificate.Secret{})
	broken, err := secrets.Get(t.Context(), wanted.Secret, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	delete(broken.Data, topology.KeyPrivate)
	if _, err := secrets.Update(t.Context(), broken, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	read("it has no key", false, certificate.Secret{Problem: "is missing"})
	if err := secrets.Delete(t.Context(), wanted.Secret, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	read("it is missing", false, certificate.Secret{Missing: true})
	var failure error
	w.kube.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, failure })
	failure = apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, wanted.Secret, nil)
	read("it may not be read", false, certificate.Secret{Unread: "the right to get Secret basic-cluster-client-secret is missing"})
	failure = errors.New("connection lost")
	read("it was not read", false, certificate.Secret{Unread: "connection lost"})
}

// TestCertificatesUnchanged: while nothing is known to have changed, Secrets are not read again, unless
// somebody has to renew one of them.
func TestCertificatesUnchanged(t *testing.T) {
	w := newOverTLS(t)
	u := w.observer.ReadChanges()
	reads := func() int {
		w.kube.ClearActions()
		u.Wake(true)
		if _, err := w.observer.Observe(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, a := range w.kube.Actions() {
			if a.Matches("get", "secrets") {
				n++
			}
		}
		return n
	}
	all := topology.Certificates(topology.New(w.cluster))
	for range 2 {
		if n := reads(); n != len(all) {
			t.Errorf("%d of %d Secrets are read while they are missing", n, len(all))
		}
	}
	for _, wanted := range all {
		w.content(t, wanted.Secret)
	}
	for _, want := range []int{len(all), 0, 0} {
		if n := reads(); n != want {
			t.Errorf("%d Secrets are read, want %d", n, want)
		}
	}
}

// TestCertificateOfSpareIsReadAgain: where a certificate is not for a spare member, the Secrets are read until somebody has
// renewed that certificate.
func TestCertificateOfSpareIsReadAgain(t *testing.T) {
	w := newOverTLS(t)
	u := w.observer.ReadChanges()
	c := topology.New(w.cluster)
	for _, wanted := range topology.Certificates(c) {
		w.content(t, wanted.Secret)
	}
	listed := topology.Certificate{Secret: c.MemberSecret(topology.TiDB), Server: true, Client: true, Names: []string{c.PodHost(topology.TiDB, 0)}}
	data, err := w.authority.Issue(listed, issue.CommonName, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	secrets := w.kube.CoreV1().Secrets("db")
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: listed.Secret, ResourceVersion: "listed"}, Data: data}
	if _, err := secrets.Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "db", Name: "tidb-basic-tidb-0", UID: "first", Labels: c.Labels(topology.TiDB),
	}}
	if _, err := w.kube.CoreV1().PersistentVolumeClaims("db").Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	look := func() (snap state.Snapshot, read bool) {
		w.kube.ClearActions()
		u.Wake(true)
		seen, err := w.observer.Observe(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		return seen.Snapshot, slices.ContainsFunc(w.kube.Actions(), func(a clienttesting.Action) bool { return a.Matches("get", "secrets") })
	}
	look()
	if snap, read := look(); read {
		t.Fatalf("Secrets are read again without a spare member: %+v", snap.Certificates)
	}
	topology.AskMemberReplacements(w.cluster, map[string]topology.MemberReplacement{"basic-tidb-0": {Claims: []string{"first"}, Spare: true}})
	look()
	if _, read := look(); !read {
		t.Error("Secrets are not read again although the certificate is not for the spare member")
	}
}

// closing counts how often its connections are closed.
type closing struct {
	http.RoundTripper
	times int
}

func (c *closing) CloseIdleConnections() { c.times++ }

// TestIdentify: with another certificate, scheme or cluster all clients are new, and connections with the former ones
// are closed.
func TestIdentify(t *testing.T) {
	o := New(fake.NewClientset(), dial.Any(&network{}), nil, time.Now)
	former, unverified := &closing{}, &closing{}
	o.unverified = &http.Client{Transport: unverified}
	o.http = &http.Client{Transport: former}
	for _, step := range []struct {
		cluster, secret string
		renewed         bool
	}{
		{"basic", "uid 1", true}, {"basic", "uid 1", false}, {"basic", "uid 2", true}, {"other", "uid 2", true},
	} {
		c := topology.Cluster{Namespace: "db", Name: step.cluster}
		c.TLS.Members = true
		was, wasUnverified := o.http, o.unverified
		o.identify(c, credentials{secret: step.secret})
		if (o.http != was) != step.renewed || (o.unverified != wasUnverified) != step.renewed || former.times != 1 || unverified.times != 1 || o.tikv.Scheme != "https" || o.tidb.Scheme != "https" || o.tikv.HTTP != o.http || o.tidb.HTTP != o.http {
			t.Errorf("%+v: %+v, closed %d and %d times", step, o.tikv, former.times, unverified.times)
		}
	}
}
