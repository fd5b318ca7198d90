package render

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

var wrote = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestWrittenConfig: our record counts as long as the data is the one it is about.
func TestWrittenConfig(t *testing.T) {
	tc := &v1alpha1.TidbCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic", Annotations: map[string]string{annNameBefore + "tikv": "basic-tikv"}},
		Spec:       v1alpha1.TidbClusterSpec{TiKV: &v1alpha1.TiKVSpec{}},
	}
	entry := func(at time.Time, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Time: &metav1.Time{Time: at}, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	for _, c := range []struct {
		name   string
		change func(*corev1.ConfigMap)
		want   Written
	}{
		{"nothing is known", func(*corev1.ConfigMap) {}, Written{}},
		{"our record", func(m *corev1.ConfigMap) { SetWritten(m, wrote) }, Written{At: wrote, Exact: true}},
		{"the data was changed by others since", func(m *corev1.ConfigMap) {
			SetWritten(m, wrote)
			m.Data = map[string]string{keyConfig: "b = 2\n"}
			m.ManagedFields = []metav1.ManagedFieldsEntry{entry(wrote.Add(time.Hour), `{"f:data":{"f:config-file":{}}}`)}
		}, Written{At: wrote.Add(time.Hour)}},
		{"an operator has written it", func(m *corev1.ConfigMap) {
			m.ManagedFields = []metav1.ManagedFieldsEntry{
				entry(wrote, `{"f:data":{".":{},"f:config-file":{}},"f:metadata":{}}`),
				entry(wrote.Add(time.Hour), `{"f:metadata":{"f:labels":{}}}`),
			}
		}, Written{At: wrote}},
		{"a record that is none", func(m *corev1.ConfigMap) { m.Annotations = map[string]string{annWritten: "yesterday"} }, Written{}},
	} {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "basic-tikv"}, Data: map[string]string{keyConfig: "a = 1\n"}}
		c.change(m)
		got := WrittenConfig(topology.New(tc), topology.TiKV, state.Existing{ConfigMaps: map[string]*corev1.ConfigMap{m.Name: m}})
		if !got.At.Equal(c.want.At) || got.Exact != c.want.Exact {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if got := WrittenConfig(topology.New(tc), topology.TiKV, state.Existing{}); !got.At.IsZero() {
		t.Errorf("no ConfigMap: %+v", got)
	}
}

// TestPodConfig: what is not known is not called older.
func TestPodConfig(t *testing.T) {
	pod := func(made, started time.Duration) state.Pod {
		return state.Pod{Made: wrote.Add(made), Started: wrote.Add(started)}
	}
	exact, bound := Written{At: wrote, Exact: true}, Written{At: wrote}
	for _, c := range []struct {
		name    string
		written Written
		pod     state.Pod
		want    state.Config
	}{
		{"made before", exact, pod(-time.Hour, -time.Hour), state.ConfigOlder},
		{"made after", exact, pod(time.Minute, time.Minute), state.ConfigCurrent},
		{"made at about that time", exact, pod(time.Second, 2*time.Second), state.ConfigUnknown},
		{"made just before", exact, pod(-time.Second, -time.Second), state.ConfigUnknown},
		{"made before, its container has started again just after", exact, pod(-time.Hour, 30*time.Second), state.ConfigUnknown},
		{"made before, its container has started again long after", exact, pod(-time.Hour, time.Hour), state.ConfigCurrent},
		{"an operator's ConfigMap, made with the cluster", bound, pod(0, time.Second), state.ConfigCurrent},
		{"an operator's ConfigMap, written after", bound, pod(-time.Hour, -time.Hour), state.ConfigUnknown},
		{"nothing is known", Written{}, pod(-time.Hour, -time.Hour), state.ConfigUnknown},
	} {
		if got := c.written.In(c.pod); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
