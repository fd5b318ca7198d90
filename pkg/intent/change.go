package intent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// attempts: with no status subresource, each write of the status makes a new
// version of the whole TidbCluster, so conflicts with a driver at work are
// common and mean nothing to the user.
const attempts = 8

// values are fields of a TidbCluster by their path, as text.
type values map[string]string

// Scale sets the replicas of components, and nothing else. It fails with a
// *ChangedError if they are not those of tc any more. tc is what the user saw.
func (c *Client) Scale(ctx context.Context, tc *v1alpha1.TidbCluster, replicas map[topology.Kind]int, w Write) (*v1alpha1.TidbCluster, error) {
	spec := map[string]any{}
	for k, n := range replicas {
		have := replicasOf(tc, k)
		switch {
		case have == nil:
			return nil, fmt.Errorf("scale tidbcluster %s/%s: it has no %s", tc.Namespace, tc.Name, k.Title())
		case n < 0 || int64(n) != int64(int32(n)):
			return nil, fmt.Errorf("scale tidbcluster %s/%s: %s cannot have %d replicas", tc.Namespace, tc.Name, k.Title(), n)
		case int(*have) != n:
			spec[string(k)] = map[string]any{"replicas": n}
		}
	}
	return c.change(ctx, "scale", tc, spec, w, func(tc *v1alpha1.TidbCluster) values {
		v := values{}
		for k := range replicas {
			if have := replicasOf(tc, k); have != nil {
				v["spec."+string(k)+".replicas"] = strconv.Itoa(int(*have))
			}
		}
		return v
	})
}

// SetVersion sets spec.version, and nothing else. It fails with a *ChangedError
// if that is not the one of tc any more. Components with a version of their own
// keep it: that is what the user has them for. They are returned, since the
// upgrade does not reach them.
func (c *Client) SetVersion(ctx context.Context, tc *v1alpha1.TidbCluster, version string, w Write) (*v1alpha1.TidbCluster, []Pin, error) {
	spec := map[string]any{}
	if tc.Spec.Version != version {
		spec["version"] = version
	}
	got, err := c.change(ctx, "set version of", tc, spec, w, func(tc *v1alpha1.TidbCluster) values {
		return values{"spec.version": tc.Spec.Version}
	})
	if err != nil {
		return nil, nil, err
	}
	return got, Pinned(tc, version), nil
}

// change patches fields of the spec. That the version read has gone is no reason
// to give up as long as the fields concerned are still what they were; the look
// function says which these are.
func (c *Client) change(ctx context.Context, verb string, tc *v1alpha1.TidbCluster, spec map[string]any, w Write, look func(*v1alpha1.TidbCluster) values) (*v1alpha1.TidbCluster, error) {
	if len(spec) == 0 {
		return tc, nil
	}
	seen, version := look(tc), tc.ResourceVersion
	for attempt := 1; ; attempt++ {
		body, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": version},
			"spec":     spec,
		})
		if err != nil {
			return nil, fmt.Errorf("%s tidbcluster %s/%s: %w", verb, tc.Namespace, tc.Name, err)
		}
		got, err := c.in(tc.Namespace).Patch(ctx, tc.Name, types.MergePatchType, body, metav1.PatchOptions{
			FieldManager: FieldManager, FieldValidation: metav1.FieldValidationStrict, DryRun: w.dryRun(),
		})
		switch {
		case err == nil:
			return decode(got)
		case apierrors.IsNotFound(err):
			return nil, c.missing(ctx, tc.Namespace, tc.Name, err)
		case !apierrors.IsConflict(err) || attempt == attempts:
			return nil, fmt.Errorf("%s tidbcluster %s/%s: %w", verb, tc.Namespace, tc.Name, err)
		}
		now, err := c.Load(ctx, tc.Namespace, tc.Name)
		if err != nil {
			return nil, err
		}
		if what := difference(tc, now, seen, look(now)); what != "" {
			return nil, &ChangedError{Namespace: tc.Namespace, Name: tc.Name, What: what}
		}
		version = now.ResourceVersion
	}
}

func difference(before, now *v1alpha1.TidbCluster, seen, live values) string {
	if before.UID != now.UID {
		return "it was deleted and created again"
	}
	for _, path := range slices.Sorted(maps.Keys(seen)) {
		value, ok := live[path]
		if !ok {
			return path + " is gone"
		}
		if value != seen[path] {
			return fmt.Sprintf("%s is %s by now, it was %s", path, value, seen[path])
		}
	}
	return ""
}

func replicasOf(tc *v1alpha1.TidbCluster, k topology.Kind) *int32 {
	switch {
	case k == topology.PD && tc.Spec.PD != nil:
		return &tc.Spec.PD.Replicas
	case k == topology.TiKV && tc.Spec.TiKV != nil:
		return &tc.Spec.TiKV.Replicas
	case k == topology.TiDB && tc.Spec.TiDB != nil:
		return &tc.Spec.TiDB.Replicas
	}
	return nil
}

// Pin is a component with a version of its own.
type Pin struct{ Component, Version string }

// Pinned are the components of a cluster that setting spec.version to version
// leaves at another one, because they have a version or a whole image of their
// own.
func Pinned(tc *v1alpha1.TidbCluster, version string) []Pin {
	tc = tc.DeepCopy()
	tc.Spec.Version = version
	tc = topology.New(tc).Source // image names have defaults, too
	pump := ""
	if image := tc.PumpImage(); image != nil {
		pump = *image
	}
	var pins []Pin
	for _, c := range []struct{ component, image string }{
		{"pd", tc.PDImage()}, {"tikv", tc.TiKVImage()}, {"tidb", tc.TiDBImage()},
		{"tiflash", tc.TiFlashImage()}, {"ticdc", tc.TiCDCImage()}, {"pump", pump}, {"tiproxy", tc.TiProxyImage()},
	} {
		if c.image != "" && topology.Tag(c.image) != version {
			pins = append(pins, Pin{Component: c.component, Version: topology.Tag(c.image)})
		}
	}
	return pins
}

// Recover asks for the recovery of TiKV's failover that tc shows, and of no other:
// with a UID the request is spent when that one is over.
func (c *Client) Recover(ctx context.Context, tc *v1alpha1.TidbCluster, w Write) (*v1alpha1.TidbCluster, error) {
	spec := map[string]any{"tikv": map[string]any{
		"failover": map[string]any{"recoverByUID": tc.Status.TiKV.FailoverUID},
	}}
	return c.change(ctx, "recover", tc, spec, w, func(tc *v1alpha1.TidbCluster) values {
		return values{"status.tikv.failoverUID": string(tc.Status.TiKV.FailoverUID)}
	})
}
