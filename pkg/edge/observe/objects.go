package observe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// objects are the Kubernetes objects of a cluster, sorted by component and member.
type objects struct {
	existing state.Existing
	pods     map[topology.Kind]map[int]*corev1.Pod
	claims   map[topology.Kind]map[int][]state.Claim
	born     map[topology.Kind]map[int]time.Time // when the claim with a member's data was made
	bound    map[string]string                   // the volumes of claims, by the claim's UID
	ledger   *corev1.ConfigMap
	otherPD  map[int]*corev1.Pod      // the pods of PD of the part that has it, for a part that has none
	others   map[topology.Kind]string // StatefulSets of the kind that the cluster does not have
}

// sortOtherPD sorts the pods of PD of the part that has it.
func (l Objects) sortOtherPD(c topology.Cluster) map[int]*corev1.Pod {
	pods := map[int]*corev1.Pod{}
	for _, pod := range l.PD {
		if n, ok := c.PDPart().Ordinal(topology.PD, pod.Name); ok {
			pods[n] = pod
		}
	}
	return pods
}

// pdPods returns the pods of PD that the members connect to.
func (o objects) pdPods(c topology.Cluster) map[int]*corev1.Pod {
	if c.UsesOtherPD() {
		return o.otherPD
	}
	return o.pods[topology.PD]
}

// started returns when the process of a member of PD started, by its name; zero
// when it is unknown.
func (o objects) started(c topology.Cluster, member string) time.Time {
	for n, pod := range o.pdPods(c) {
		if p := podState(topology.PD, pod); c.PDPart().PodName(topology.PD, n) == member {
			return p.Started
		}
	}
	return time.Time{}
}

// give sets the volumes of claims, by the claim's UID.
func (o objects) give(volumes map[string]*state.Volume) {
	for _, kind := range o.claims {
		for _, claims := range kind {
			for i := range claims {
				claims[i].Volume = volumes[claims[i].UID]
			}
		}
	}
}

// sort sorts objects by component and member.
func (l Objects) sort(c topology.Cluster) objects {
	seen := objects{
		pods:   map[topology.Kind]map[int]*corev1.Pod{},
		claims: map[topology.Kind]map[int][]state.Claim{},
		born:   map[topology.Kind]map[int]time.Time{},
		bound:  map[string]string{},
		others: map[topology.Kind]string{},
		existing: state.Existing{
			Services:               map[string]*corev1.Service{},
			ConfigMaps:             map[string]*corev1.ConfigMap{},
			Sets:                   map[topology.Kind]*appsv1.StatefulSet{},
			Pods:                   map[topology.Kind]*corev1.PodSpec{},
			HasDiscoveryDeployment: l.Discovery,
		},
	}
	for _, s := range l.Services {
		seen.existing.Services[s.Name] = s
	}
	for _, m := range l.ConfigMaps {
		seen.existing.ConfigMaps[m.Name] = m
	}
	for _, k := range topology.Kinds() {
		seen.pods[k], seen.claims[k], seen.born[k] = map[int]*corev1.Pod{}, map[int][]state.Claim{}, map[int]time.Time{}
		for _, set := range l.Sets {
			switch {
			case set.Name != c.SetName(k):
			case state.IsAdvanced(set.APIVersion) == l.Advanced:
				seen.existing.Sets[k] = set
			default:
				seen.others[k] = "a StatefulSet of " + cmp.Or(set.APIVersion, appsv1.SchemeGroupVersion.String())
			}
		}
		for _, pod := range l.Pods {
			if n, ok := c.Ordinal(k, pod.Name); ok {
				seen.pods[k][n] = pod
			}
		}
		if seen.existing.Sets[k] == nil && len(seen.pods[k]) > 0 {
			lowest := slices.Min(slices.Collect(maps.Keys(seen.pods[k])))
			seen.existing.Pods[k] = &seen.pods[k][lowest].Spec
		}
		for _, claim := range l.Claims {
			if volume, n, ok := claimOrdinal(c, k, claim); ok {
				seen.claims[k][n] = append(seen.claims[k][n], claimState(claim, volume))
				if claim.Spec.VolumeName != "" && claim.Status.Phase != corev1.ClaimPending {
					seen.bound[string(claim.UID)] = claim.Spec.VolumeName
				}
				if claim.Name == k.DataVolume()+"-"+c.PodName(k, n) {
					seen.born[k][n] = claim.CreationTimestamp.Time
				}
			}
		}
	}
	seen.ledger, seen.otherPD = l.Ledger, l.sortOtherPD(c)
	return seen
}

// readConfigs reads the ConfigMaps that pods mount and that have not the cluster's labels. Such ConfigMaps were made
// by a person or a Helm chart, or they are deleted. Most clusters have none, and nothing is read.
func (o *Observer) readConfigs(ctx context.Context, c topology.Cluster, have state.Existing) error {
	for _, name := range render.ConfigMaps(c, have) {
		if have.ConfigMaps[name] != nil {
			continue
		}
		var failed error
		m := named(o.changes, "configmap/"+name, func() (*corev1.ConfigMap, bool) {
			m, err := o.kube.CoreV1().ConfigMaps(c.Namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				m, failed = nil, ignoreNotFound(err) // one that is missing is awaited
			}
			return m, err == nil
		})
		if failed != nil {
			return fmt.Errorf("read configmap %s/%s: %w", c.Namespace, name, failed)
		}
		if m != nil {
			have.ConfigMaps[name] = m
		}
	}
	return nil
}
