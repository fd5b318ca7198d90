package intent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	strict "sigs.k8s.io/json"
)

// Unknown names the fields in the spec of a TidbCluster that this version does not
// know, since a later definition of TidbCluster has them. They stay as they are,
// because nothing but single fields is ever written, and have no effect.
func (c *Client) Unknown(ctx context.Context, namespace, name string) ([]string, error) {
	u, err := c.in(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get tidbcluster %s/%s: %w", namespace, name, err)
	}
	data, err := u.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode tidbcluster %s/%s: %w", namespace, name, err)
	}
	// An error means that it cannot be read at all, which Load explains.
	problems, _ := strict.UnmarshalStrict(data, &v1alpha1.TidbCluster{}, strict.DisallowUnknownFields)
	var fields []string
	for _, p := range problems {
		var at strict.FieldError
		if errors.As(p, &at) && strings.HasPrefix(at.FieldPath(), "spec.") {
			fields = append(fields, at.FieldPath())
		}
	}
	slices.Sort(fields)
	return fields, nil
}
