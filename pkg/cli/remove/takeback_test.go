package remove

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestRecordsStay: records that have outlived the TidbCluster are named, with what ends them. A ledger that is deleted
// with the TidbCluster, or has no open record, is not.
func TestRecordsStay(t *testing.T) {
	const open, template = "evict-leader.5", "template.tikv"
	for name, c := range map[string]struct {
		key      string
		owned    bool
		withData bool
		says     string
	}{
		"open":                     {open, false, false, "ends when a cluster of this name goes on with the data"},
		"open, without the data":   {open, false, true, "kubectl delete configmap basic-ledger -n db"},
		"goes with the cluster":    {open, true, false, ""},
		"nothing is left in PD":    {template, false, false, ""},
		"there is no ledger":       {"", false, false, ""},
		"a later version's record": {"pause-gc.1", false, false, "recorded in ConfigMap basic-ledger"},
	} {
		d := &deletion{remains: left()}
		if c.key != "" {
			book := &corev1.ConfigMap{ObjectMeta: own("basic-ledger"), Data: map[string]string{c.key: `{"member":"basic-tikv-1","version":1,"spec":"a","pods":"b"}`}}
			if c.owned {
				yes := true
				book.OwnerReferences = []metav1.OwnerReference{{Kind: "TidbCluster", Name: "basic", UID: "tc", Controller: &yes}}
			}
			d = &deletion{remains: left(book)}
		}
		if got := d.recordsStay(t.Context(), c.withData); !strings.Contains(got, c.says) || (got == "") != (c.says == "") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestLedgerGoesWithTheData: with --delete-pvcs the ledger gets its owner back before the TidbCluster is deleted.
func TestLedgerGoesWithTheData(t *testing.T) {
	d := &deletion{remains: left(&corev1.ConfigMap{ObjectMeta: own("basic-ledger"), Data: map[string]string{"evict-leader.5": `{"member":"basic-tikv-1"}`}})}
	d.cluster.UID = "tc"
	d.withData(t.Context())
	book, err := d.ledger(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if c := metav1.GetControllerOf(book); c == nil || c.UID != "tc" {
		t.Errorf("it would outlive the data: %v", book.OwnerReferences)
	}
}
