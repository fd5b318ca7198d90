// Package admission asks the API server whether it takes the objects of a cluster, before anything is written. The
// definition of TidbCluster takes almost any text in the fields that become part of a StatefulSet, a Service or a
// pod. So without this the first object that the API server refuses is found after other objects have been made.
package admission

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/sets"
)

// Answer is what the API server says of the objects of a cluster.
type Answer struct {
	// Refused are the reasons for which it would not take them: as long as the spec is the same, no later try succeeds.
	Refused []error
	// Notes are reasons that may have gone by the time of the write, and what could not be asked.
	Notes []string
}

// requests bounds how many objects are asked about at the same time.
const requests = 8

// candidate is an object to ask about.
type candidate struct {
	component topology.Kind // "" for an object of the whole cluster
	object    desired.Object
}

// Ask asks about all objects of a cluster that would be made or changed. It changes nothing.
func Ask(ctx context.Context, kube kubernetes.Interface, w desired.State) Answer {
	all := candidates(w)
	answers := make([]Answer, len(all))
	var asking errgroup.Group
	asking.SetLimit(requests)
	for i, c := range all {
		asking.Go(func() error {
			q := question{kube: kube, cluster: w.Cluster, candidate: c}
			q.ask(ctx)
			answers[i] = q.Answer
			return nil
		})
	}
	_ = asking.Wait()
	return merged(answers)
}

func candidates(w desired.State) []candidate {
	var all []candidate
	add := func(k topology.Kind, objects ...desired.Object) {
		for _, o := range objects {
			if o.Manifest != nil && (o.Drift == desired.Missing || o.Drift == desired.Differs) {
				all = append(all, candidate{k, o})
			}
		}
	}
	add("", w.Objects...)
	for _, g := range w.Groups {
		add(g.Kind, g.Services...)
		add(g.Kind, g.Config...)
		add(g.Kind, g.Set)
	}
	return all
}

// merged returns the answers without repetitions: a StatefulSet and its pod are refused for the same field.
func merged(answers []Answer) Answer {
	var all Answer
	said := map[string]bool{}
	for _, a := range answers {
		for _, err := range a.Refused {
			if !said[err.Error()] {
				said[err.Error()] = true
				all.Refused = append(all.Refused, err)
			}
		}
		for _, n := range a.Notes {
			if !said[n] {
				said[n] = true
				all.Notes = append(all.Notes, n)
			}
		}
	}
	return all
}

// question is about one object.
type question struct {
	Answer
	candidate
	kube    kubernetes.Interface
	cluster topology.Cluster
}

func (q *question) ask(ctx context.Context) {
	namespace := q.cluster.Namespace
	switch wanted := q.object.Manifest.(type) {
	case *corev1.Service:
		write(ctx, q, q.kube.CoreV1().Services(namespace), wanted)
	case *corev1.ConfigMap:
		write(ctx, q, q.kube.CoreV1().ConfigMaps(namespace), wanted)
	case *appsv1.StatefulSet:
		before, next := write(ctx, q, sets.Of(q.kube, namespace, q.cluster.Advanced), wanted)
		// The API server has checked the pod template as a part of the StatefulSet. What only the making of a pod shows
		// comes from admission plugins.
		if len(q.Refused) == 0 && next != nil && (before == nil || !equality.Semantic.DeepEqual(before.Spec.Template, next.Spec.Template)) {
			pod := firstPod(next)
			_, err := q.kube.CoreV1().Pods(namespace).Create(ctx, pod, create)
			q.judge("pod", pod, err)
		}
	}
}

var (
	create = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: "kubectl-tidb"}
	update = metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: "kubectl-tidb"}
)

type object interface {
	metav1.Object
	runtime.Object
}

type objects[T object] interface {
	Get(context.Context, string, metav1.GetOptions) (T, error)
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
}

// write asks about a write of an object as it will be done. It returns the object before and after the write; the
// second is zero where the write cannot be asked about.
func write[T object](ctx context.Context, q *question, client objects[T], wanted T) (before, next T) {
	if q.object.Drift == desired.Missing {
		next = wanted.DeepCopyObject().(T)
		if q.cluster.UID == "" { // the owner is not there yet, and a reference needs its UID
			next.SetOwnerReferences(nil)
		}
		_, err := client.Create(ctx, next, create)
		q.judge(q.object.Kind, next, err)
		return before, next
	}
	live, err := client.Get(ctx, wanted.GetName(), metav1.GetOptions{})
	if err != nil {
		q.judge(q.object.Kind, wanted, err)
		return before, next
	}
	result, remade, err := q.rewritten(live, wanted)
	if err != nil {
		return before, next // the step itself says what is wrong
	}
	next = result.(T)
	if remade {
		tried := next.DeepCopyObject().(T)
		tried.SetName("")
		tried.SetGenerateName(next.GetName() + "-") // because the object that is there still has the name
		_, err = client.Create(ctx, tried, create)
	} else {
		_, err = client.Update(ctx, next, update)
	}
	q.judge(q.object.Kind, next, err)
	return live, next
}

// rewritten returns an object as a step would write it, and whether the step deletes the object first. Kubernetes refuses an
// update with other claim templates, so a StatefulSet with other volumes is made again.
func (q *question) rewritten(live, wanted runtime.Object) (next runtime.Object, remade bool, err error) {
	set, ok := live.(*appsv1.StatefulSet)
	if !ok || !render.OtherVolumes(q.component, set, wanted.(*appsv1.StatefulSet)) {
		next, err = render.Merge(live, wanted)
		return next, false, err
	}
	next, err = render.Remade(set, wanted.(*appsv1.StatefulSet), true)
	return next, true, err
}

// firstPod returns the first pod of a StatefulSet as its controller makes it.
func firstPod(set *appsv1.StatefulSet) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy()}
	// A name of its own, because the first member may have a pod.
	pod.Name, pod.GenerateName, pod.Namespace = "", set.Name+"-", set.Namespace
	pod.Spec.Hostname, pod.Spec.Subdomain = set.Name+"-0", set.Spec.ServiceName
	for _, claim := range set.Spec.VolumeClaimTemplates {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: claim.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name + "-" + set.Name + "-0"},
		}})
	}
	return pod
}

// judge sorts an error of the API server.
func (q *question) judge(kind string, o runtime.Object, err error) {
	var status apierrors.APIStatus
	ok := errors.As(err, &status)
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
		// The namespace is not there, which the write of the TidbCluster says, or another process was faster.
	case !ok:
		q.note("the API server could not be asked whether it takes the %s of %s: %v", kind, q.title(), err)
	case apierrors.IsInvalid(err):
		q.invalid(kind, o, status.Status())
	case undecided.MatchString(status.Status().Message), apierrors.IsInternalError(err), apierrors.IsServerTimeout(err), apierrors.IsTooManyRequests(err),
		apierrors.IsTimeout(err), apierrors.IsServiceUnavailable(err):
		q.note("the API server did not say whether it takes the %s of %s: %s", kind, q.title(), why(status.Status().Message))
	case passing.MatchString(status.Status().Message):
		if q.object.Drift == desired.Missing { // a rollout replaces pods, and needs no more than there are
			q.note("the API server would not take the %s of %s now, and pods wait until it does: %s", kind, q.title(), why(status.Status().Message))
		}
	default:
		message := why(status.Status().Message)
		q.Refused = append(q.Refused, fmt.Errorf("%s: the API server takes no such %s: %s", q.field(message, o), kind, message))
	}
}

func (q *question) note(format string, args ...any) {
	q.Notes = append(q.Notes, fmt.Sprintf(format, args...))
}

func (q *question) title() string {
	if q.component == "" {
		return "the cluster"
	}
	return q.component.Title()
}

// invalid adds a reason for each field that the API server names.
func (q *question) invalid(kind string, o runtime.Object, status metav1.Status) {
	var causes []metav1.StatusCause
	if status.Details != nil {
		causes = status.Details.Causes
	}
	if len(causes) == 0 {
		q.Refused = append(q.Refused, fmt.Errorf("%s: the API server takes no such %s: %s", q.field("", o), kind, status.Message))
	}
	for _, c := range causes {
		field := render.Origin(q.cluster, q.component, o, c.Field)
		if field == "spec" || field == "spec."+string(q.component) {
			// No field of the TidbCluster is known for it, so the user needs the field of the object.
			q.Refused = append(q.Refused, fmt.Errorf("%s: the API server takes no such %s: %s: %s", field, kind, c.Field, c.Message))
			continue
		}
		q.Refused = append(q.Refused, fmt.Errorf("%s: %s", field, c.Message))
	}
}

var (
	// undecided matches answers that say nothing about the object. A right for the dry run is missing, a webhook has
	// effects outside of the API server, or something is not known yet.
	undecided = regexp.MustCompile(`cannot (create|update|get) resource|not support dry ?run|status unknown for quota|being terminated|not yet ready|failed calling webhook`)
	// passing matches refusals of what may come or go without a change of the spec. A quota has room again, or a
	// service account is made by another manifest.
	passing = regexp.MustCompile(`exceeded quota|(?i)service ?account.* not found|error looking up service account`)
	// begins matches how a refusal names the object, which has a name that no user has seen.
	begins = regexp.MustCompile(`^[a-z.]+ "[^"]*" is forbidden: `)
)

// why returns the reason in a message.
func why(message string) string { return begins.ReplaceAllString(message, "") }

// field returns the field that a refusal of an admission plugin is about, which names none.
func (q *question) field(message string, o runtime.Object) string {
	path := ""
	switch {
	case strings.Contains(message, "PriorityClass"):
		path = "spec.priorityClassName"
	case strings.Contains(message, "PodSecurity"):
		path = "spec.securityContext"
	}
	if _, pod := o.(*corev1.Pod); !pod {
		path = ""
	}
	return render.Origin(q.cluster, q.component, o, path)
}
