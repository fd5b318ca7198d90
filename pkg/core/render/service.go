package render

import (
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// service is a Service that selects the pods of a component.
func service(comp component, name, usedBy string, ports ...corev1.ServicePort) *corev1.Service {
	c := comp.cluster
	s := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: meta(c, name, union(c.Labels(comp.Kind), map[string]string{topology.LabelUsedBy: usedBy})),
		Spec:       corev1.ServiceSpec{Ports: ports, Selector: c.Labels(comp.Kind)},
	}
	if c.Source.Spec.PreferIPv6 {
		dual := corev1.IPFamilyPolicyPreferDualStack
		s.Spec.IPFamilyPolicy = &dual
	}
	return s
}

// peerService gives each pod a DNS name, also while the pod is not Ready. Members must find each
// other to become Ready.
func peerService(comp component, ports ...corev1.ServicePort) *corev1.Service {
	s := service(comp, comp.cluster.PeerService(comp.Kind), usedByPeer, ports...)
	s.Spec.ClusterIP = corev1.ClusterIPNone
	s.Spec.PublishNotReadyAddresses = true
	return s
}

func servicePort(name string, number int32) corev1.ServicePort {
	return corev1.ServicePort{
		Name: name, Port: number, TargetPort: intstr.FromInt32(number), Protocol: corev1.ProtocolTCP,
	}
}

// applyServiceSpec sets the fields that the user can give for any Service. The first port is the
// one that the user may name.
func applyServiceSpec(s *corev1.Service, spec v1alpha1.ServiceSpec) {
	s.Labels = union(spec.Labels, s.Labels)
	s.Annotations = union(spec.Annotations)
	if spec.Type != "" {
		s.Spec.Type = spec.Type
	}
	if spec.ClusterIP != nil {
		s.Spec.ClusterIP = *spec.ClusterIP
	}
	if spec.PortName != nil {
		s.Spec.Ports[0].Name = *spec.PortName
	}
}
