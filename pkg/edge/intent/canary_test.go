package intent

import (
	"errors"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// withCanary has a verb upgrade the cluster, with a canary.
func withCanary(t *testing.T, c *Client, version, canary string) *v1alpha1.TidbCluster {
	t.Helper()
	change, err := c.SetVersion(load(t, c), version, nil)
	if err != nil {
		t.Fatal(err)
	}
	topology.SetCanary(change.Want, canary)
	tc, err := made(t, c, change, Write{Action: "upgrade to " + version, At: noon})
	if err != nil {
		t.Fatal(err)
	}
	return tc
}

// TestCanaryIsWritten: it comes with the change, and goes with it when that is taken back.
func TestCanaryIsWritten(t *testing.T) {
	c, _ := client(t, object(t, stored))
	tc := withCanary(t, c, "v8.1.1", "tikv=1")
	if text, _ := topology.CanaryAsked(tc); text != "tikv=1" || tc.Spec.Version != "v8.1.1" {
		t.Fatalf("%q, %s", text, tc.Spec.Version)
	}
	change, _, err := c.Rollback(tc)
	if err != nil {
		t.Fatal(err)
	}
	got, err := made(t, c, change, Write{})
	if _, asked := topology.CanaryAsked(got); err != nil || asked || got.Spec.Version != "v8.1.0" {
		t.Errorf("%v: %+v", err, got.Annotations)
	}
}

// TestCanaryOfAnotherChange: taking back a change that came later leaves the canary alone, and one that
// replaced it brings it back.
func TestCanaryOfAnotherChange(t *testing.T) {
	for _, next := range []string{"tikv=1", "tikv=2"} {
		c, _ := client(t, object(t, stored))
		withCanary(t, c, "v8.1.1", "tikv=1")
		change, _, err := c.Rollback(withCanary(t, c, "v8.1.2", next))
		if err != nil {
			t.Fatal(err)
		}
		got, err := made(t, c, change, Write{})
		if text, _ := topology.CanaryAsked(got); err != nil || text != "tikv=1" || got.Spec.Version != "v8.1.1" {
			t.Errorf("%s: %v, %q, %s", next, err, text, got.Spec.Version)
		}
	}
}

// TestCanaryComesLater: one that is asked for while the rollout is under way belongs to the change that it
// holds.
func TestCanaryComesLater(t *testing.T) {
	c, _ := client(t, object(t, stored))
	upgraded(t, c)
	tc := withCanary(t, c, "v8.1.1", "tikv=1")
	if last, _ := topology.LastChangeOf(tc); last.Canary == nil || *last.Canary != "" || !last.IsLast(tc) {
		t.Fatalf("recorded %+v", last)
	}
	change, _, err := c.Rollback(tc)
	if err != nil {
		t.Fatal(err)
	}
	got, err := made(t, c, change, Write{})
	if _, asked := topology.CanaryAsked(got); err != nil || asked || got.Spec.Version != "v8.1.0" {
		t.Errorf("%v: %+v, %s", err, got.Annotations, got.Spec.Version)
	}
}

// TestPromote: the canary ends, and nothing else changes. What others have changed since it was watched is
// not promoted.
func TestPromote(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	var none *NoCanaryError
	if _, err := c.Promote(load(t, c)); !errors.As(err, &none) {
		t.Errorf("without a canary: %v", err)
	}
	tc := withCanary(t, c, "v8.1.1", "tikv=1")
	change, err := c.Promote(tc)
	if err != nil {
		t.Fatal(err)
	}
	changed(t, dyn, "3", "status", "tikv", "phase") // a driver writes the status meanwhile
	got, err := made(t, c, change, Write{})
	if _, asked := topology.CanaryAsked(got); err != nil || asked || got.Spec.Version != "v8.1.1" || got.Annotations[topology.AnnotationLastChange] == "" {
		t.Errorf("%v: %+v", err, got.Annotations)
	}
	for field, to := range map[string]string{"spec.version": "v8.1.2", "the canary": "tikv=2"} {
		c, dyn := client(t, object(t, stored))
		change, err := c.Promote(withCanary(t, c, "v8.1.1", "tikv=1"))
		if err != nil {
			t.Fatal(err)
		}
		if path := []string{"metadata", "annotations", topology.AnnotationCanary}; field == "the canary" {
			changed(t, dyn, to, path...)
		} else {
			changed(t, dyn, to, "spec", "version")
		}
		var clash *ChangedError
		if _, err := made(t, c, change, Write{}); !errors.As(err, &clash) {
			t.Errorf("%s has changed: %v", field, err)
		}
	}
}
