package observe

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// refusalsKept is how long the events of a StatefulSet are not read again. A pod is missing for a moment in each
// restart, and one that Kubernetes may not make is missing for long.
const refusalsKept = 30 * time.Second

// explain says of members without a pod why Kubernetes has not made it. A quota, an admission webhook or another
// refusal is only in the events of the StatefulSet. Where they may not be read, nothing is said.
func (o *Observer) explain(ctx context.Context, c topology.Cluster, k topology.Kind, members []state.Member) {
	var refusals map[string]podRefusal
	for i := range members {
		m := &members[i]
		if m.Gone.IsZero() {
			continue
		}
		if refusals == nil {
			refusals = o.refusals.readOnce(o.now(), c.SetName(k), func() (map[string]podRefusal, *state.Gap, error) {
				return o.readRefusals(ctx, c.Namespace, c.SetName(k))
			})
		}
		why := refusals[m.Name]
		m.Refusal, m.Lacks = why.text, why.lacks
		if m.Lacks.Name != "" {
			m.Lacks.Field = render.Origin(c, k, &corev1.Pod{}, why.field)
			m.Refusal += ", which " + m.Lacks.Field + " names"
		}
	}
}

// readRefusals returns why Kubernetes could not make pods of a StatefulSet when it tried last, by the pods' names.
func (o *Observer) readRefusals(ctx context.Context, namespace, set string) (map[string]podRefusal, *state.Gap, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	about := fields.Set{"involvedObject.kind": "StatefulSet", "involvedObject.name": set}.String()
	list, err := o.kube.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: about})
	switch {
	case denial.Missing(err):
		return nil, &state.Gap{What: "events"}, err
	case err != nil:
		return nil, nil, nil //nolint:nilerr // it is asked again after a while, and not at once
	}
	return refusals(list.Items, set), nil, nil
}

// podRefusal is why Kubernetes has not made a pod.
type podRefusal struct {
	text  string
	lacks state.Lacking // without its field of the TidbCluster
	field string        // of the pod, where lacks is named
}

// lacking are the refusals of a pod that names what does not exist. Kubernetes asks for that only when the pod is made.
var lacking = []struct {
	says                  *regexp.Regexp
	resource, kind, field string
}{
	{regexp.MustCompile(`no PriorityClass with name (\S+) was found`), "priorityclasses", "PriorityClass", "spec.priorityClassName"},
	{regexp.MustCompile(`serviceaccounts? "([^"]+)" not found`), "serviceaccounts", "ServiceAccount", "spec.serviceAccountName"},
}

// refusalOf returns what an answer of the API server means.
func refusalOf(problem string) podRefusal {
	for _, l := range lacking {
		if found := l.says.FindStringSubmatch(problem); found != nil {
			return podRefusal{
				text:  fmt.Sprintf("no pod: there is no %s %s", l.kind, found[1]),
				lacks: state.Lacking{Resource: l.resource, Kind: l.kind, Name: found[1]}, field: l.field,
			}
		}
	}
	return podRefusal{text: join("no pod", problem)}
}

// refusals returns what the last attempt to make each pod has ended with, where it has failed. The message of an event
// is "Create Pod NAME in StatefulSet SET failed error: WHY", or with "Create Claim CLAIM Pod NAME" at its beginning.
// Older versions of Kubernetes write "create".
func refusals(events []corev1.Event, set string) map[string]podRefusal {
	why, last := map[string]podRefusal{}, map[string]time.Time{}
	for _, e := range events {
		verb, _, _ := strings.Cut(e.Message, " ")
		_, rest, named := strings.Cut(e.Message, "Pod ")
		pod, _, ofSet := strings.Cut(rest, " in StatefulSet "+set+" ")
		_, problem, failed := strings.Cut(e.Message, " failed error: ")
		at := e.LastTimestamp.Time
		if !named || !ofSet || !strings.EqualFold(verb, "create") || at.Before(last[pod]) {
			continue
		}
		if last[pod] = at; failed {
			why[pod] = refusalOf(problem)
		} else {
			delete(why, pod)
		}
	}
	return why
}
