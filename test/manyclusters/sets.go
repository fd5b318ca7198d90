package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// sets does the work of Kubernetes' StatefulSet controller and kubelet for all
// StatefulSets of a namespace, with as few writes as the daemon can be shown the
// same by: claims and pods that are missing are made, and said to be Ready in the
// next write; pods that are too many go, and the status of the StatefulSet follows.
// Of the real ones the node's two cores would see ten times the writes, and of
// that nothing would be the daemon's.
type sets struct {
	clients
	namespace string
	informer  cache.SharedIndexInformer
	queue     workqueue.TypedRateLimitingInterface[string]

	mu   sync.Mutex
	made map[types.UID]int // pods, by StatefulSet
}

// controllers is how many StatefulSets are worked on at the same time.
const controllers = 16

func newSets(c clients, namespace string) (*sets, error) {
	s := &sets{
		clients: c, namespace: namespace, made: map[types.UID]int{},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	s.informer = informers.NewSharedInformerFactoryWithOptions(s.kube, 0, informers.WithNamespace(s.namespace)).Apps().V1().StatefulSets().Informer()
	changed := func(obj any) {
		if key, err := cache.MetaNamespaceKeyFunc(obj); err == nil {
			s.queue.Add(key)
		}
	}
	_, err := s.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, obj any) { changed(obj) },
	})
	return s, err
}

// run works until ctx ends.
func (s *sets) run(ctx context.Context) {
	var all sync.WaitGroup
	for range controllers {
		all.Go(func() {
			for s.next(ctx) {
			}
		})
	}
	s.informer.RunWithContext(ctx)
	s.queue.ShutDown()
	all.Wait()
}

func (s *sets) next(ctx context.Context) bool {
	key, over := s.queue.Get()
	if over {
		return false
	}
	defer s.queue.Done(key)
	obj, ok, err := s.informer.GetStore().GetByKey(key)
	if err != nil || !ok {
		return true
	}
	if s.sync(ctx, obj.(*appsv1.StatefulSet)) != nil {
		s.queue.AddRateLimited(key)
	}
	return true
}

// sync brings a StatefulSet to where it is wanted.
func (s *sets) sync(ctx context.Context, set *appsv1.StatefulSet) error {
	wanted := int(*set.Spec.Replicas)
	if set.Status.ObservedGeneration == set.Generation {
		return nil
	}
	s.mu.Lock()
	have := s.made[set.UID]
	s.mu.Unlock()
	for n := have; n < wanted; n++ {
		if err := s.start(ctx, set, n); err != nil {
			return err
		}
	}
	now := int64(0)
	for n := wanted; n < have; n++ {
		err := s.kube.CoreV1().Pods(s.namespace).Delete(ctx, podName(set, n), metav1.DeleteOptions{GracePeriodSeconds: &now})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	s.mu.Lock()
	s.made[set.UID] = wanted
	s.mu.Unlock()
	count := int32(wanted)
	set = set.DeepCopy()
	set.Status = appsv1.StatefulSetStatus{
		ObservedGeneration: set.Generation, Replicas: count, ReadyReplicas: count, AvailableReplicas: count,
		CurrentReplicas: count, UpdatedReplicas: count, CurrentRevision: revision(set), UpdateRevision: revision(set),
	}
	_, err := s.kube.AppsV1().StatefulSets(s.namespace).UpdateStatus(ctx, set, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		return nil // it has changed, and is looked at again
	}
	return err
}

// start makes a pod, with its claims, and says that it runs.
func (s *sets) start(ctx context.Context, set *appsv1.StatefulSet, n int) error {
	name := podName(set, n)
	pod := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy()}
	pod.Name, pod.Namespace = name, s.namespace
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = revision(set)
	pod.Labels[appsv1.StatefulSetPodNameLabel] = name
	pod.Labels[appsv1.PodIndexLabel] = strconv.Itoa(n)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
	pod.Spec.Hostname, pod.Spec.Subdomain = name, set.Spec.ServiceName
	for _, t := range set.Spec.VolumeClaimTemplates {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: *t.ObjectMeta.DeepCopy(), Spec: t.Spec}
		claim.Name, claim.Namespace, claim.Labels = t.Name+"-"+name, s.namespace, set.Spec.Selector.MatchLabels
		if _, err := s.kube.CoreV1().PersistentVolumeClaims(s.namespace).Create(ctx, claim, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: t.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
		}})
	}
	pods := s.kube.CoreV1().Pods(s.namespace)
	made, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) { // from an attempt that failed half-way
		made, err = pods.Get(ctx, name, metav1.GetOptions{})
	}
	if err != nil {
		return err
	}
	made.Status = running(made)
	_, err = pods.UpdateStatus(ctx, made, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) { // the daemon has labelled it
		return s.start(ctx, set, n)
	}
	return err
}

func podName(set *appsv1.StatefulSet, n int) string { return fmt.Sprintf("%s-%d", set.Name, n) }

// revision is the same for the same template.
func revision(set *appsv1.StatefulSet) string {
	body, _ := json.Marshal(set.Spec.Template) // what came as JSON goes as JSON
	h := fnv.New32a()
	_, _ = h.Write(body)
	return fmt.Sprintf("%s-%x", set.Name, h.Sum32())
}
