package tls

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/issue"
)

// TestIssued: what is said differs for Certificates that are made, that exist, and that are issued.
func TestIssued(t *testing.T) {
	c := topology.New(&v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"}})
	c.TLS.SQL = true
	dyn := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	m := issue.NewCertManager(dyn, c, "mine", issue.Life)
	ready := func(names ...string) {
		resource := schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}
		for _, name := range names {
			client := dyn.Resource(resource).Namespace("db")
			got, err := client.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
			if _, err := client.Update(t.Context(), got, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	const asked = "secret/basic-tidb-server-secret asked for\nsecret/basic-tidb-client-secret asked for\n"
	for _, tt := range []struct {
		name, out, says, err string
		ready                []string
	}{
		{"made", asked, "", "has not issued 2 certificates within 1ns; basic-tidb-client-secret: cert-manager has not looked at it yet", nil},
		{"they exist", "", "All Certificates of cluster db/basic exist, and cert-manager has not issued 2 of them yet.\n", "2 certificates", nil},
		{"one is issued", "", "All Certificates of cluster db/basic exist, and cert-manager has not issued 1 of them yet.\n", "has not issued 1 certificate within 1ns; basic-tidb-server-secret: ", []string{"basic-tidb-client-secret"}},
		{"all are issued", "", "All Certificates of cluster db/basic exist, and are issued.\n", "", []string{"basic-tidb-server-secret"}},
	} {
		ready(tt.ready...)
		var out, says bytes.Buffer
		f := factory.New(genericiooptions.IOStreams{In: io.LimitReader(nil, 0), Out: &out, ErrOut: &says}, os.Getenv, "")
		err := issued(t.Context(), f, c, m, time.Nanosecond)
		if out.String() != tt.out || says.String() != tt.says {
			t.Errorf("%s: %q and %q, want %q and %q", tt.name, out.String(), says.String(), tt.out, tt.says)
		}
		if tt.err == "" && err != nil || tt.err != "" && (exit.Of(err) != exit.TimedOut || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		}
	}
}
