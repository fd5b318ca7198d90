package intent

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	strict "sigs.k8s.io/json"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Resource is the resource of TidbClusters.
var Resource = schema.GroupVersionResource{Group: "pingcap.com", Version: "v1alpha1", Resource: "tidbclusters"}

const (
	apiVersion = "pingcap.com/v1alpha1"
	kind       = "TidbCluster"

	// FieldManager is the name under which the API server records what we wrote.
	FieldManager = "kubectl-tidb"

	// ReasonOutdated is the reason of a loaded condition Ready that was written for an earlier
	// generation.
	ReasonOutdated = "Outdated"
)

// Client reads and writes TidbClusters.
type Client struct {
	dyn dynamic.Interface
	uid types.UID
}

// New makes a Client.
func New(dyn dynamic.Interface) *Client { return &Client{dyn: dyn} }

// Expect limits the client to the TidbCluster with this UID; "" is any. It returns the client.
func (c *Client) Expect(uid types.UID) *Client {
	c.uid = uid
	return c
}

// Load reads a TidbCluster as it is written, without defaults. It fails with a *NotFoundError if there is none, and
// with an *OtherError if there is not the expected one. If the API server does not know TidbClusters at all it fails
// with a *NoResourceError.
func (c *Client) Load(ctx context.Context, namespace, name string) (*v1alpha1.TidbCluster, error) {
	u, err := c.get(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return decode(u)
}

// LoadOther reads a TidbCluster whatever its UID, such as the TidbCluster that a part joins.
func (c *Client) LoadOther(ctx context.Context, namespace, name string) (*v1alpha1.TidbCluster, error) {
	return New(c.dyn).Load(ctx, namespace, name)
}

// get reads a TidbCluster as the API server has it.
func (c *Client) get(ctx context.Context, namespace, name string) (*unstructured.Unstructured, error) {
	u, err := c.resourceIn(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && c.uid != "":
		return nil, &OtherError{Namespace: namespace, Name: name, Want: c.uid} // its claims and Secrets may be of another cluster
	case apierrors.IsNotFound(err):
		return nil, c.missing(ctx, namespace, name, err)
	case err != nil:
		return nil, fmt.Errorf("get tidbcluster %s/%s: %w", namespace, name, err)
	case c.uid != "" && u.GetUID() != c.uid:
		return nil, &OtherError{Namespace: namespace, Name: name, Want: c.uid, Got: u.GetUID()}
	}
	return u, nil
}

// List reads the TidbClusters of a namespace, of all namespaces for "". When some of them cannot be decoded, the
// error says so. Such TidbClusters are in the list nevertheless, with what could be read: at least the names.
func (c *Client) List(ctx context.Context, namespace, selector string) ([]v1alpha1.TidbCluster, error) {
	all, failed, err := c.list(ctx, namespace, selector)
	return all, errors.Join(append(failed, err)...)
}

// list returns an error for each TidbCluster that cannot be decoded, besides the error of the request itself.
func (c *Client) list(ctx context.Context, namespace, selector string) (out []v1alpha1.TidbCluster, failed []error, err error) {
	list, err := c.resourceIn(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil, NoResource(err)
	case err != nil && namespace == "":
		return nil, nil, fmt.Errorf("list tidbclusters of all namespaces: %w", err)
	case err != nil:
		return nil, nil, fmt.Errorf("list tidbclusters in namespace %s: %w", namespace, err)
	}
	for i := range list.Items {
		tc, err := decode(&list.Items[i])
		if err != nil {
			failed = append(failed, err)
			tc = partial(&list.Items[i], err)
		}
		out = append(out, *tc)
	}
	return out, failed, nil
}

// partial returns what could be read of a TidbCluster that cannot be decoded.
func partial(u *unstructured.Unstructured, err error) *v1alpha1.TidbCluster {
	if bad, ok := errors.AsType[*MalformedError](err); ok {
		return bad.Cluster
	}
	return &v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(), CreationTimestamp: u.GetCreationTimestamp(),
	}}
}

func (c *Client) resourceIn(namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return c.dyn.Resource(Resource)
	}
	return c.dyn.Resource(Resource).Namespace(namespace)
}

// missing returns the error for a TidbCluster that was not found. The API server gives the same answer when the
// resource does not exist. A list shows which it is, since an empty list is no error.
func (c *Client) missing(ctx context.Context, namespace, name string, cause error) error {
	e := &NotFoundError{Namespace: namespace, Name: name, Err: cause}
	near, err := c.resourceIn(namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return NoResource(err)
	}
	if err == nil {
		for i := range near.Items {
			e.Similar = append(e.Similar, near.Items[i].GetName())
		}
		e.Similar = Similar(name, e.Similar)
	}
	// Most users may not list all namespaces, and this is only a hint.
	all, err := c.resourceIn("").List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String(),
	})
	if err != nil {
		return e
	}
	for i := range all.Items {
		if item := &all.Items[i]; item.GetName() == name && item.GetNamespace() != namespace {
			e.Elsewhere = append(e.Elsewhere, item.GetNamespace())
		}
	}
	return e
}

// decode goes through JSON, since the API types have decoders of their own. A conversion field by field would not
// call these decoders. A Ready that is about an earlier generation is decoded as Unknown, since the types have no
// field for the generation. An annotation names the fields that the types do not know.
func decode(u *unstructured.Unstructured) (*v1alpha1.TidbCluster, error) {
	data, err := u.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode tidbcluster %s/%s: %w", u.GetNamespace(), u.GetName(), err)
	}
	tc := &v1alpha1.TidbCluster{}
	problems, err := strict.UnmarshalStrict(data, tc, strict.DisallowUnknownFields)
	if err != nil {
		return nil, undecodable(u, err)
	}
	topology.SetUnknown(tc, unknownFields(problems))
	if observed, found, err := unstructured.NestedInt64(u.Object, "status", "observedGeneration"); err == nil && found && observed < u.GetGeneration() {
		outdateReady(tc)
	}
	return tc, nil
}

// undecodable returns the error for a TidbCluster that cannot be decoded: a *MalformedError if only
// its configurations cannot.
func undecodable(u *unstructured.Unstructured, cause error) error {
	rest := u.DeepCopy()
	if problems := malformed(rest.Object); len(problems) > 0 {
		if tc, err := decode(rest); err == nil {
			bad := &MalformedError{Namespace: u.GetNamespace(), Name: u.GetName(), Problems: problems, Cluster: tc}
			return remedy.For(bad, bad.Remedy()...)
		}
	}
	var wrong []string
	for _, m := range misfits(rest.Object, reflect.TypeFor[v1alpha1.TidbCluster]()) {
		if !m.unknown {
			wrong = append(wrong, m.field()+" "+m.what)
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("tidbcluster %s/%s cannot be read: %s", u.GetNamespace(), u.GetName(), strings.Join(wrong, "; "))
	}
	return fmt.Errorf("decode tidbcluster %s/%s: %w", u.GetNamespace(), u.GetName(), cause)
}

// outdateReady sets the condition Ready to Unknown, since it is about a spec that has
// changed since.
func outdateReady(tc *v1alpha1.TidbCluster) {
	for i := range tc.Status.Conditions {
		if c := &tc.Status.Conditions[i]; c.Type == v1alpha1.TidbClusterReady {
			c.Status, c.Reason = corev1.ConditionUnknown, ReasonOutdated
			c.Message = "The cluster was changed, and has not been observed since"
		}
	}
}
