package observe

import (
	"errors"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// TestOwnWrites: a watch does not report the versions that our own writes have made, and reports each other one.
func TestOwnWrites(t *testing.T) {
	for name, c := range map[string]struct {
		during []string // versions that are reported while the write is under way
		made   string   // "": the write fails
		after  []string
		nudges int
	}{
		"reported after the write":            {nil, "2", []string{"2"}, 0},
		"reported before it is answered":      {[]string{"2"}, "2", nil, 0},
		"of another process after it":         {nil, "2", []string{"2", "3"}, 1},
		"of another process before it":        {[]string{"1"}, "2", []string{"2"}, 1},
		"several during it are one":           {[]string{"1", "2", "3"}, "2", nil, 1},
		"of another process, and it fails":    {[]string{"2"}, "", nil, 1},
		"of another process after it failed":  {nil, "", []string{"2"}, 1},
		"without a version, as fakes have it": {nil, "", []string{""}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			nudges, own := 0, &OwnWrites{}
			own.reportTo(func() { nudges++ })
			failed := errors.New("refused")
			version, err := own.Do(func() (string, error) {
				for _, v := range c.during {
					own.report(v)
				}
				if c.made == "" {
					return "", failed
				}
				return c.made, nil
			})
			if version != c.made || (c.made == "") != errors.Is(err, failed) {
				t.Errorf("the write returned %q, %v", version, err)
			}
			for _, v := range c.after {
				own.report(v)
			}
			if nudges != c.nudges {
				t.Errorf("%d nudges, want %d", nudges, c.nudges)
			}
			if !own.Took() || own.Took() {
				t.Error("a write counts once, also one that failed: what was read before may be outdated")
			}
		})
	}
}

// TestOwnWritesInAWatch: only a version of the TidbCluster can be that of our own write.
func TestOwnWritesInAWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := &OwnWrites{}
		nudges, watches := watchingBy(t.Context(), t, topology.Cluster{Namespace: "ns", Name: "basic", Instance: "basic"}, own.Watch)
		_, _ = own.Do(func() (string, error) { return "7", nil })
		for _, r := range resources {
			watches[r].events.Add(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "basic", ResourceVersion: "7"}})
			synctest.Wait()
			nudged := false
			select {
			case <-nudges:
				nudged = true
			default:
			}
			if nudged == (r == intent.Resource) {
				t.Errorf("%s: reported %v", r.Resource, nudged)
			}
		}
	})
}
