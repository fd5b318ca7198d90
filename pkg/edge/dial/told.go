package dial

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Told is a Dialer that can be told pods which its caller has read. It does not ask for those pods again. That would
// be a request for each member, in each look at a cluster that has hundreds.
type Told interface {
	// Tell gives pods to the dialer until the function that it returns is called. That should be soon: what
	// was read becomes outdated, and a connection would go to a pod that is not there any more.
	Tell(pods []*corev1.Pod) (over func())
}

// told are the pods that a dialer was told. Its zero value has none. It is safe for concurrent use.
type told struct {
	mu   sync.Mutex
	pods map[types.NamespacedName]*corev1.Pod
}

// Tell implements Told.
func (t *told) Tell(pods []*corev1.Pod) (over func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pods == nil {
		t.pods = make(map[types.NamespacedName]*corev1.Pod, len(pods))
	}
	for _, p := range pods {
		t.pods[keyOf(p)] = p
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, p := range pods {
			if t.pods[keyOf(p)] == p {
				delete(t.pods, keyOf(p))
			}
		}
	}
}

// podOf returns the pod of that name, nil if it was not told.
func (t *told) podOf(key types.NamespacedName) *corev1.Pod {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pods[key]
}

func keyOf(p *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}
