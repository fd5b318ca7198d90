package observe

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

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
	var refusals map[string]string
	for i := range members {
		m := &members[i]
		if m.Gone.IsZero() {
			continue
		}
		if refusals == nil {
			refusals = o.refusals.recall(o.now(), c.SetName(k), func() (map[string]string, *state.Gap, error) {
				return o.readRefusals(ctx, c.Namespace, c.SetName(k))
			})
		}
		m.Refusal = refusals[m.Name]
	}
}

// readRefusals returns why Kubernetes could not make pods of a StatefulSet when it tried last, by the pods' names.
func (o *Observer) readRefusals(ctx context.Context, namespace, set string) (map[string]string, *state.Gap, error) {
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

// refusals returns what the last attempt to make each pod has ended with, where it has failed. The message of an event
// is "create Pod NAME in StatefulSet SET failed error: WHY", or with "create Claim CLAIM Pod NAME" at its beginning.
func refusals(events []corev1.Event, set string) map[string]string {
	why, last := map[string]string{}, map[string]time.Time{}
	for _, e := range events {
		_, rest, named := strings.Cut(e.Message, "Pod ")
		pod, _, ofSet := strings.Cut(rest, " in StatefulSet "+set+" ")
		_, problem, failed := strings.Cut(e.Message, " failed error: ")
		at := e.LastTimestamp.Time
		if !named || !ofSet || !strings.HasPrefix(e.Message, "create ") || at.Before(last[pod]) {
			continue
		}
		if last[pod] = at; failed {
			why[pod] = join("no pod", problem)
		} else {
			delete(why, pod)
		}
	}
	return why
}
