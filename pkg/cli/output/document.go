package output

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/harmless"
)

// Document writes objects as YAML, without fields that are not set. The types would also write a status, and some
// empty fields.
func Document(objects []runtime.Object) (string, error) {
	var b strings.Builder
	for i, o := range objects {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return "", fmt.Errorf("write %s: %w", o.GetObjectKind().GroupVersionKind().Kind, err)
		}
		delete(fields, "status")
		text, err := harmless.YAML(tidy(fields))
		if err != nil {
			return "", fmt.Errorf("write %s: %w", o.GetObjectKind().GroupVersionKind().Kind, err)
		}
		if i > 0 {
			b.WriteString("---\n")
		}
		b.Write(text)
	}
	return b.String(), nil
}

// tidy drops fields that are nil or an empty object.
func tidy(fields map[string]any) map[string]any {
	for k, v := range fields {
		if inner, ok := v.(map[string]any); ok && len(tidy(inner)) == 0 || v == nil {
			delete(fields, k)
		}
	}
	return fields
}
