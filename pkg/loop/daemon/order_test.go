package daemon

import (
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// TestOrder: clusters whose spec has changed come first, once, and no cluster waits for ever.
func TestOrder(t *testing.T) {
	for name, tt := range map[string]struct {
		do   string // +a puts a on the queue, !a makes it come first, ~a is a Touch, - takes one off
		want string
	}{
		"in turn":                          {"+a +b +c - - -", "abc"},
		"wanted comes first":               {"+a +b !c +c - - -", "cab"},
		"wanted while it waits":            {"+a +b !b ~b - -", "ba"},
		"wanted once":                      {"+a !b +b - +b - -", "bab"},
		"touched without being wanted":     {"+a +b ~b - -", "ab"},
		"wanted while it is worked on":     {"+b - !b +a +b - -", "bba"},
		"the others get every fourth turn": {"+x !a +a !b +b !c +c !d +d !e +e - - - - - -", "abcxde"},
		"first in turn among themselves":   {"!a +a !b +b !a ~a - -", "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			o, got := newOrder(), ""
			for step := range strings.FieldsSeq(tt.do) {
				key := cache.NewObjectName("", step[1:])
				switch step[0] {
				case '+':
					o.Push(key)
				case '!':
					o.prefer(key)
				case '~':
					o.Touch(key)
				case '-':
					got += o.Pop().Name
				}
			}
			if got != tt.want || o.Len() != 0 {
				t.Errorf("got %q with %d left, want %q", got, o.Len(), tt.want)
			}
		})
	}
}

// TestRecorded: a write of the status is no change of what users want.
func TestRecorded(t *testing.T) {
	kept := func(change func(*v1alpha1.TidbCluster)) any {
		tc := &v1alpha1.TidbCluster{Spec: v1alpha1.TidbClusterSpec{Version: "v8.1.0"}}
		tc.Annotations = map[string]string{"a": "1"}
		change(tc)
		w, err := keepWanted(tc)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	for name, tt := range map[string]struct {
		change func(*v1alpha1.TidbCluster)
		want   bool
	}{
		"nothing":    {func(*v1alpha1.TidbCluster) {}, true},
		"status":     {func(tc *v1alpha1.TidbCluster) { tc.Status.ClusterID = "7"; tc.Generation++ }, true},
		"spec":       {func(tc *v1alpha1.TidbCluster) { tc.Spec.Version = "v8.1.1" }, false},
		"annotation": {func(tc *v1alpha1.TidbCluster) { tc.Annotations["a"] = "2" }, false},
		"label":      {func(tc *v1alpha1.TidbCluster) { tc.Labels = map[string]string{"l": "1"} }, false},
	} {
		if got := onlyStatusChanged(kept(func(*v1alpha1.TidbCluster) {}), kept(tt.change)); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if onlyStatusChanged(&intent.Undecodable{}, kept(func(*v1alpha1.TidbCluster) {})) {
		t.Error("a TidbCluster that can be decoded again is not seen as changed by a user")
	}
}
