package topology

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// words has the values that the API server takes for fields of a type. The definition of TidbCluster takes
// any text there. So a wrong word would be found only when an object is made for a component, after other
// objects have been made. The policy of volumes would not be found at all, and data would go with its
// claim.
var words = map[reflect.Type][]string{
	reflect.TypeFor[corev1.PersistentVolumeReclaimPolicy](): wordsOf(corev1.PersistentVolumeReclaimRetain, corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle),
	reflect.TypeFor[corev1.ServiceType]():                   wordsOf(corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer),
	reflect.TypeFor[corev1.ServiceExternalTrafficPolicy]():  wordsOf(corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal),
	reflect.TypeFor[corev1.TaintEffect]():                   wordsOf(corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute),
	reflect.TypeFor[corev1.TolerationOperator]():            wordsOf(corev1.TolerationOpExists, corev1.TolerationOpEqual, corev1.TolerationOpLt, corev1.TolerationOpGt),
	reflect.TypeFor[corev1.PullPolicy]():                    wordsOf(corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever),
	reflect.TypeFor[corev1.Protocol]():                      wordsOf(corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP),
	reflect.TypeFor[corev1.DNSPolicy]():                     wordsOf(corev1.DNSClusterFirst, corev1.DNSClusterFirstWithHostNet, corev1.DNSDefault, corev1.DNSNone),
	reflect.TypeFor[corev1.UnsatisfiableConstraintAction](): wordsOf(corev1.DoNotSchedule, corev1.ScheduleAnyway),
	reflect.TypeFor[corev1.NodeSelectorOperator](): wordsOf(corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
		corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt),
	reflect.TypeFor[metav1.LabelSelectorOperator](): wordsOf(metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn,
		metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist),
	reflect.TypeFor[corev1.MountPropagationMode](): wordsOf(corev1.MountPropagationNone, corev1.MountPropagationHostToContainer, corev1.MountPropagationBidirectional),
	reflect.TypeFor[corev1.HostPathType](): wordsOf(corev1.HostPathDirectoryOrCreate, corev1.HostPathDirectory, corev1.HostPathFileOrCreate,
		corev1.HostPathFile, corev1.HostPathSocket, corev1.HostPathCharDev, corev1.HostPathBlockDev),
	reflect.TypeFor[corev1.SeccompProfileType]():     wordsOf(corev1.SeccompProfileTypeUnconfined, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeLocalhost),
	reflect.TypeFor[corev1.PodFSGroupChangePolicy](): wordsOf(corev1.FSGroupChangeOnRootMismatch, corev1.FSGroupChangeAlways),
	reflect.TypeFor[corev1.URIScheme]():              wordsOf(corev1.URISchemeHTTP, corev1.URISchemeHTTPS),
}

func wordsOf[T ~string](all ...T) []string {
	var texts []string
	for _, w := range all {
		texts = append(texts, string(w))
	}
	return texts
}

// validateWords refuses values that are none of the words of their type, in any field of the spec.
func validateWords(tc *v1alpha1.TidbCluster) field.ErrorList {
	var errs field.ErrorList
	unknownWords(reflect.ValueOf(tc.Spec), field.NewPath("spec"), &errs)
	return errs
}

// unknownWords looks into a value and all that it has.
func unknownWords(v reflect.Value, at *field.Path, errs *field.ErrorList) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			unknownWords(v.Elem(), at, errs)
		}
	case reflect.Slice:
		for i := range v.Len() {
			unknownWords(v.Index(i), at.Index(i), errs)
		}
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String {
			return
		}
		keys := map[string]reflect.Value{}
		for _, k := range v.MapKeys() {
			keys[k.String()] = k
		}
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			unknownWords(v.MapIndex(keys[k]), at.Key(k), errs)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			sf := v.Type().Field(i)
			name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
			switch {
			case !sf.IsExported(), name == "-":
			case name == "":
				unknownWords(v.Field(i), at, errs)
			default:
				unknownWords(v.Field(i), at.Child(name), errs)
			}
		}
	case reflect.String:
		if known := words[v.Type()]; known != nil && v.String() != "" && !slices.Contains(known, v.String()) {
			*errs = append(*errs, field.NotSupported(at, v.String(), known))
		}
	}
}

// smallest is the size below which a volume is a mistake: 100 instead of 100Gi is a hundred bytes.
const smallest = Size(1 << 20)

// tiny returns the volumes of a component that no data would fit into.
func tiny(g Group) []Volume {
	return slices.DeleteFunc(slices.Clone(g.Volumes), func(v Volume) bool { return v.Size <= 0 || v.Size >= smallest })
}

// tooSmall says what is wrong with the size of a volume.
func tooSmall(v Volume) string {
	return fmt.Sprintf("is %s, which is %d bytes: write a unit, such as %sGi", v.Size, int64(v.Size), v.Size)
}
