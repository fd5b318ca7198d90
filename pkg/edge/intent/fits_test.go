package intent

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	strict "sigs.k8s.io/json"
)

// FuzzFits: what is said of a document agrees with the decoder. A value that the decoder refuses is named, and none
// is named that it takes.
func FuzzFits(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"spec":{"pd":{"replicas":3}}}`, `{"spec":{"pd":{"replicas":"3"}}}`, `{"spec":{"pd":{"replicas":2.5}}}`,
		`{"spec":{"pd":{"replicas":2147483648}}}`, `{"spec":{"pd":{"replicas":2.0}}}`, `{"spec":{"pd":null}}`, `{"spec":[]}`, `{"spec":{"tikv":{"requests":{"cpu":1}}}}`,
		`{"spec":{"tikv":{"requests":{"cpu":"1x"}}}}`, `{"spec":{"tikv":{"evictLeaderTimeout":"1m"}}}`, `{"spec":{"tolerations":[{"tolerationSeconds":1.5}]}}`,
		`{"metadata":{"labels":{"a":1}}}`, `{"metadata":{"creationTimestamp":"now"}}`, `{"spec":{"pd":{"env":[{"value":true}]}}}`, `{"Spec":{}}`,
		`{"spec":{"tidb":{"service":{"mysqlNodePort":"x"}}}}`, `{"spec":{"tidb":{"readinessProbe":{"tcpSocket":{"port":true}}}}}`,
		`{"spec":{"tidb":{"config":"a = 1"}}}`, `{"spec":{"tidb":{"config":5}}}`, `{"metadata":{"managedFields":[{"fieldsV1":{"a":{}}}]}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var object map[string]any
		if utiljson.Unmarshal([]byte(text), &object) != nil {
			return
		}
		body, err := json.Marshal(object)
		if err != nil {
			return
		}
		malformed(object)
		rest, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		found := misfits(object, reflect.TypeFor[v1alpha1.TidbCluster]())
		unknown, err := strict.UnmarshalStrict(rest, &v1alpha1.TidbCluster{}, strict.DisallowUnknownFields)
		if refused := err != nil || len(unknown) > 0; refused != (len(found) > 0) {
			t.Errorf("%s: the decoder says %v, %v, and found are %v", body, unknown, err, found)
		}
	})
}

// TestNoQuantity: what is suggested is a quantity of the number that the user has written.
func TestNoQuantity(t *testing.T) {
	for text, want := range map[string]string{
		"100GB": "write 100Gi or 100G", "1.5tb": "write 1.5Ti or 1.5T", "10 Gi": "write 10Gi", "250MiB": "write 250Mi", "2 cores": "write 2",
		"“8Gi”": "write 8Gi", "100 Gigabytes": "write 100Gi or 100G", "lots": "such as 500m", "": "such as 500m", "-5GB": "such as 500m",
	} {
		if got := noQuantity(text); !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}
