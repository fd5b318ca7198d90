package intent

import (
	"errors"
	"slices"
	"strings"

	strict "sigs.k8s.io/json"
)

// unknownFields names the fields in the spec of a TidbCluster that this version does not know. A later definition of
// TidbCluster has these fields. The fields stay as they are, because nothing but single fields is ever written, and
// have no effect.
func unknownFields(problems []error) []string {
	var fields []string
	for _, p := range problems {
		var at strict.FieldError
		if errors.As(p, &at) && strings.HasPrefix(at.FieldPath(), "spec.") {
			fields = append(fields, at.FieldPath())
		}
	}
	slices.Sort(fields)
	return fields
}
