package events

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
)

const summary = "EventSummary"

// view is the JSON form of one event.
type view struct {
	Namespace string    `json:"namespace"`
	Cluster   string    `json:"cluster"`
	LastSeen  time.Time `json:"lastSeen"`
	Type      string    `json:"type"`
	Reason    string    `json:"reason"`
	Object    object    `json:"object"`
	Message   string    `json:"message"`
	Count     int32     `json:"count"` // how often it was reported
}

type object struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// write writes events in the format of -o. They are a list, or with -w single events, since there is no end.
func (p *printer) write(all []corev1.Event) error {
	items := []unstructured.Unstructured{}
	for i := range all {
		o, err := p.document(&all[i])
		if err != nil {
			return err
		}
		if !p.watch {
			items = append(items, *o)
			continue
		}
		if err := p.output.Print(p.Streams.Out, o); err != nil {
			return err
		}
	}
	if p.watch {
		return nil
	}
	return p.output.Print(p.Streams.Out, output.List(summary, items))
}

func (p *printer) document(e *corev1.Event) (*unstructured.Unstructured, error) {
	return output.Object(summary, p.cluster.Namespace, p.cluster.Name, view{
		Namespace: p.cluster.Namespace, Cluster: p.cluster.Name, LastSeen: lastReported(*e).UTC(), Type: e.Type, Reason: e.Reason,
		Object: object{e.InvolvedObject.Kind, e.InvolvedObject.Name}, Message: e.Message, Count: times(e),
	})
}

// times returns how often an event was reported: reporters count in one of two fields, or not at all.
func times(e *corev1.Event) int32 {
	if e.Series != nil {
		return max(e.Series.Count, 1)
	}
	return max(e.Count, 1)
}
