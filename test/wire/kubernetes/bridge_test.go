package kubernetes

import (
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/memoryapi"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

var clusterResource = schema.GroupVersionResource{Group: "pingcap.com", Version: "v1alpha1", Resource: "tidbclusters"}

const manifest = `
apiVersion: pingcap.com/v1alpha1
kind: TidbCluster
metadata: {name: basic, namespace: db}
spec:
  version: v8.1.0
  pvReclaimPolicy: Retain
  pd: {baseImage: pingcap/pd, replicas: 3, requests: {storage: 10Gi}}
  tikv: {baseImage: pingcap/tikv, replicas: 3, requests: {storage: 10Gi}}
  tidb: {baseImage: pingcap/tidb, replicas: 2}
`

// others are the other components.
const others = `  tiflash: {baseImage: pingcap/tiflash, replicas: 2, storageClaims: [{resources: {requests: {storage: 10Gi}}}]}
  ticdc: {baseImage: pingcap/ticdc, replicas: 2}
  tiproxy: {baseImage: pingcap/tiproxy, version: v1.3.0, replicas: 2}
  pump: {baseImage: pingcap/tidb-binlog, replicas: 2, requests: {storage: 10Gi}}
`

// world is a model, an API server, the bridge between them and clients.
type world struct {
	*testing.T
	model *sim.Model
	api   *memoryapi.Server
	*Bridge
	kube kubernetes.Interface
	dyn  dynamic.Interface
}

// in runs a test in virtual time that begins with the model's.
func in(t *testing.T, o sim.Options, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, model: sim.New(o), api: memoryapi.New()}
		time.Sleep(time.Until(w.model.Now()))
		w.Bridge = New(w.model, w.api)
		config := &rest.Config{Host: "http://memory", QPS: -1}
		client := &http.Client{Transport: memoryapi.Transport{Handler: w.api}}
		var err error
		if w.kube, err = kubernetes.NewForConfigAndClient(config, client); err != nil {
			t.Fatal(err)
		}
		if w.dyn, err = dynamic.NewForConfigAndClient(config, client); err != nil {
			t.Fatal(err)
		}
		w.Show()
		test(w)
	})
}

// pass lets seconds pass.
func (w *world) pass(seconds int) {
	w.Written()
	w.Show()
	for range seconds {
		time.Sleep(time.Second)
		w.model.Tick()
		w.Show()
	}
}

// create creates the TidbCluster and all that it needs, as the plugin does.
func (w *world) create() topology.Cluster {
	text := manifest
	if w.model.TiFlash > 0 {
		text += others
	}
	body, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		w.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(body, &u.Object); err != nil {
		w.Fatal(err)
	}
	if _, err := w.dyn.Resource(clusterResource).Namespace(Namespace).Create(w.Context(), u, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	w.Written()
	c := w.read()
	wanted := w.wanted(c)
	for _, o := range wanted.Objects {
		w.put(o.Manifest)
	}
	for _, g := range wanted.Groups {
		for _, o := range g.Services {
			w.put(o.Manifest)
		}
		for _, o := range g.Config {
			w.put(o.Manifest)
		}
		w.put(g.Set.Manifest)
	}
	return c
}

func (w *world) read() topology.Cluster {
	u, err := w.dyn.Resource(clusterResource).Namespace(Namespace).Get(w.Context(), Name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	tc := &v1alpha1.TidbCluster{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, tc); err != nil {
		w.Fatal(err)
	}
	return topology.New(tc)
}

func (w *world) put(manifest any) {
	var err error
	switch o := manifest.(type) {
	case *corev1.Service:
		_, err = w.kube.CoreV1().Services(Namespace).Create(w.Context(), o, metav1.CreateOptions{})
	case *corev1.ConfigMap:
		_, err = w.kube.CoreV1().ConfigMaps(Namespace).Create(w.Context(), o, metav1.CreateOptions{})
	case *appsv1.StatefulSet:
		_, err = w.kube.AppsV1().StatefulSets(Namespace).Create(w.Context(), o, metav1.CreateOptions{})
	}
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) pod(name string) *corev1.Pod {
	p, err := w.kube.CoreV1().Pods(Namespace).Get(w.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return p
}

func (w *world) set(k topology.Kind) *appsv1.StatefulSet {
	s, err := w.kube.AppsV1().StatefulSets(Namespace).Get(w.Context(), w.cluster.SetName(k), metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// TestCreate: the objects of a new cluster become pods that are Ready, claims that are bound, and statuses.
func TestCreate(t *testing.T) {
	in(t, sim.Options{PD: 3, TiKV: 3, TiDB: 2}, func(w *world) {
		w.create()
		w.pass(60)
		for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
			s := w.set(k)
			if s.Status.ReadyReplicas != *s.Spec.Replicas || s.Status.ObservedGeneration != s.Generation {
				t.Errorf("%s: %+v", k, s.Status)
			}
		}
	})
}
