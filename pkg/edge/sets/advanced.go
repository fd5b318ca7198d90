package sets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// client reads and writes AdvancedStatefulSets. Their JSON has the fields of a StatefulSet of Kubernetes, except for
// minReadySeconds, ordinals, persistentVolumeClaimRetentionPolicy and the available replicas of the status.
type client struct {
	rest      rest.Interface
	namespace string
}

// absent are the fields of a spec that AdvancedStatefulSets do not have.
var absent = []string{"minReadySeconds", "ordinals", "persistentVolumeClaimRetentionPolicy"}

func (c client) request(verb string, name ...string) *rest.Request {
	path := []string{"apis", Resource.Group, Resource.Version}
	if c.namespace != "" {
		path = append(path, "namespaces", c.namespace)
	}
	return c.rest.Verb(verb).AbsPath(append(append(path, Resource.Resource), name...)...).SetHeader("Accept", runtime.ContentTypeJSON)
}

// send sends a request and returns the body of the answer.
func send(ctx context.Context, r *rest.Request) ([]byte, error) {
	answer := r.Do(ctx)
	if err := answer.Error(); err != nil {
		return nil, err
	}
	return answer.Raw()
}

// answered sends a request and returns the StatefulSet in the answer.
func answered(ctx context.Context, r *rest.Request) (*appsv1.StatefulSet, error) {
	body, err := send(ctx, r)
	if err != nil {
		return nil, err
	}
	return decode(body)
}

func decode(body []byte) (*appsv1.StatefulSet, error) {
	set := &appsv1.StatefulSet{}
	if err := json.Unmarshal(body, set); err != nil {
		return nil, fmt.Errorf("decode a StatefulSet of %s: %w", Resource.Group, err)
	}
	Mark(set)
	return set, nil
}

func (c client) Get(ctx context.Context, name string, opts metav1.GetOptions) (*appsv1.StatefulSet, error) {
	return answered(ctx, c.request(http.MethodGet, name).VersionedParams(&opts, scheme.ParameterCodec))
}

func (c client) List(ctx context.Context, opts metav1.ListOptions) (*appsv1.StatefulSetList, error) {
	body, err := send(ctx, c.request(http.MethodGet).VersionedParams(&opts, scheme.ParameterCodec).Timeout(timeout(opts)))
	if err != nil {
		return nil, err
	}
	list := &appsv1.StatefulSetList{}
	if err := json.Unmarshal(body, list); err != nil {
		return nil, fmt.Errorf("decode StatefulSets of %s: %w", Resource.Group, err)
	}
	for i := range list.Items {
		Mark(&list.Items[i])
	}
	return list, nil
}

func timeout(opts metav1.ListOptions) time.Duration {
	if opts.TimeoutSeconds == nil {
		return 0
	}
	return time.Duration(*opts.TimeoutSeconds) * time.Second
}

func (c client) Create(ctx context.Context, set *appsv1.StatefulSet, opts metav1.CreateOptions) (*appsv1.StatefulSet, error) {
	body, err := encode(set)
	if err != nil {
		return nil, err
	}
	return answered(ctx, c.write(http.MethodPost, body).VersionedParams(&opts, scheme.ParameterCodec))
}

// encode returns the JSON of a StatefulSet that is made, without what AdvancedStatefulSets do not have.
func encode(set *appsv1.StatefulSet) ([]byte, error) {
	marked := set.DeepCopy()
	Mark(marked)
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(marked)
	if err != nil {
		return nil, fmt.Errorf("encode StatefulSet %s: %w", set.Name, err)
	}
	delete(object, "status")
	if spec, ok := object["spec"].(map[string]any); ok {
		for _, field := range absent {
			delete(spec, field)
		}
	}
	return json.Marshal(object)
}

// Update writes what has changed into the object as it is now. So fields that the type of Kubernetes does not have stay,
// and a pod template that has not changed keeps its revision. An object of another version is a conflict.
func (c client) Update(ctx context.Context, set *appsv1.StatefulSet, opts metav1.UpdateOptions) (*appsv1.StatefulSet, error) {
	now, err := send(ctx, c.request(http.MethodGet, set.Name))
	if err != nil {
		return nil, err
	}
	live, err := decode(now)
	if err != nil {
		return nil, err
	}
	if set.ResourceVersion != live.ResourceVersion {
		return nil, apierrors.NewConflict(Resource.GroupResource(), set.Name,
			errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	next, err := changed(now, live, set)
	if err != nil {
		return nil, fmt.Errorf("compare versions of StatefulSet %s: %w", set.Name, err)
	}
	return answered(ctx, c.write(http.MethodPut, next, set.Name).VersionedParams(&opts, scheme.ParameterCodec))
}

// changed returns the JSON of an object with the differences between two StatefulSets.
func changed(now []byte, live, next *appsv1.StatefulSet) ([]byte, error) {
	marked := next.DeepCopy()
	Mark(marked)
	before, err := json.Marshal(live)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(marked)
	if err != nil {
		return nil, err
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(before, after, before)
	if err != nil {
		return nil, err
	}
	return jsonpatch.MergePatch(now, patch)
}

func (c client) write(verb string, body []byte, name ...string) *rest.Request {
	return c.request(verb, name...).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body)
}

func (c client) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	body, err := json.Marshal(opts)
	if err != nil {
		return fmt.Errorf("encode the options of a deletion: %w", err)
	}
	_, err = send(ctx, c.write(http.MethodDelete, body, name))
	return err
}

func (c client) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	opts.Watch = true
	events, err := c.request(http.MethodGet).VersionedParams(&opts, scheme.ParameterCodec).Timeout(timeout(opts)).Stream(ctx)
	if err != nil {
		return nil, err
	}
	return watch.NewStreamWatcher(&decoder{Decoder: json.NewDecoder(events), close: events.Close},
		apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")), nil
}

// decoder decodes the events of a watch.
type decoder struct {
	*json.Decoder
	close func() error
}

func (d *decoder) Decode() (watch.EventType, runtime.Object, error) {
	var event metav1.WatchEvent
	if err := d.Decoder.Decode(&event); err != nil {
		return "", nil, err
	}
	if event.Type == string(watch.Error) {
		status := &metav1.Status{}
		return watch.Error, status, json.Unmarshal(event.Object.Raw, status)
	}
	set, err := decode(event.Object.Raw)
	return watch.EventType(event.Type), set, err
}

func (d *decoder) Close() { _ = d.close() }
