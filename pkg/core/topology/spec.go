package topology

import (
	"fmt"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/pingcap/tidb-operator/pkg/apis/util/config"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// component has the fields of a component's spec that all components have.
type component struct {
	*v1alpha1.ComponentSpec
	whole     any // the whole spec of the component
	accessor  v1alpha1.ComponentAccessor
	image     string // with its tag
	baseImage *string
	replicas  *int32
	disks     []disk // with the data; none where members keep none
	volumes   []v1alpha1.StorageVolume
	class     **string // the field of the storage class, nil where there is none
	// attributes is the VolumeAttributesClass.
	attributes *string
	subDir     string // the directory of the data in its volume
	scale      v1alpha1.ScalePolicy
	failovers  *int32                  // the maximum number
	spares     *int32                  // of stores, while volumes are replaced; nil for none
	configs    []*config.GenericConfig // none where the user gives none
	// at is the field with the whole spec of the component, nil where the field has the name of the component.
	at *field.Path
}

// disk is a volume with data.
type disk struct {
	volume   string // the name of its claim template
	requests corev1.ResourceList
	// at is the field of the component's spec that has requests.
	at *field.Path
	// class is the field of its own storage class, nil where it has the storage class of the component.
	class   **string
	classAt *field.Path
	// attributes is its own VolumeAttributesClass.
	attributes *string
}

// size returns the requested storage, and its field.
func (d disk) size() (resource.Quantity, *field.Path, bool) {
	size, ok := d.requests[corev1.ResourceStorage]
	return size, d.at.Child("requests", "storage"), ok
}

// recovery has the fields in which a user asks for the recovery from a component's failovers. It also has the UID of
// those failovers.
type recovery struct {
	now      *bool
	failover **v1alpha1.Failover
	uid      types.UID
}

// isAsked reports whether the user asks for the recovery of the failover that is
// under way. A request by UID is for that failover only; without a failover the
// empty UID asks for nothing.
func (r recovery) isAsked() bool {
	return *r.now || *r.failover != nil && r.uid != "" && (*r.failover).RecoverByUID == r.uid
}

// reading says how one component is read from a TidbCluster. A new component needs a new row. A
// function that is nil does nothing.
type reading struct {
	kind Kind
	// spec returns the component's part, false where the TidbCluster has none.
	spec func(*v1alpha1.TidbCluster) (component, bool)
	// defaults sets the defaults of the definition's schema, and an empty configuration. It is only
	// called if the TidbCluster has the component, as are the functions below.
	defaults func(*v1alpha1.TidbCluster)
	// group adds what only this component has.
	group func(*v1alpha1.TidbCluster, *Group)
	// recovery returns the fields about recovery from failovers; nil where failovers end by
	// themselves.
	recovery func(*v1alpha1.TidbCluster) recovery
	// validate checks what only this component has; unsupported refuses what this
	// version would have to ignore; update checks a change.
	validate    func(v1alpha1.TidbClusterSpec, *field.Path) field.ErrorList
	unsupported func(*v1alpha1.TidbCluster, func(set bool, what string, path ...string))
	update      func(old, tc *v1alpha1.TidbCluster, at *field.Path) field.ErrorList
	// runsFor returns why an optional component cannot be suspended now, "" if it can.
	runsFor func(Cluster) string
	// others returns what else the component's pods depend on: parts of other components, and annotations. Its own
	// part of the spec and the fields of the cluster as a whole are left out.
	others func(*v1alpha1.TidbCluster) map[string]any
	// warnings lists fields without the effect that they seem to have.
	warnings func(old *Cluster, c Cluster, at *field.Path) []Warning
	// references returns objects that members need besides those that all components may need.
	references func(Cluster, *field.Path) []Reference
	// listens are settings of where the component listens that its start script does not override.
	listens []listening
	// acceptedNames is the key of the component's configuration with the common names of
	// certificates that its members accept.
	acceptedNames string
	// sharesOne reports whether the component's pods mount no certificate of its members, but only
	// others.
	sharesOne func(Cluster) bool
	// called returns the name by which other members connect to a member, where that is not its pod's
	// full name.
	called func(c Cluster, ordinal int) string
	// certificates returns the certificates that the component's pods mount besides that of its
	// members.
	certificates func(Cluster) []Certificate
	// noConfig is an empty configuration as a user writes it, in JSON.
	noConfig string
	// instead says what to do instead of taking the component out of the spec.
	instead string
}

// readings has the readings of all components, in dependency order.
var readings = []reading{readPD, readTSO, readScheduling, readTiKV, readTiFlash, readPump, readTiDB, readTiProxy, readTiCDC}

// readingOf returns the row of a component, one that reads nothing for an unknown one.
func readingOf(k Kind) reading {
	for i := range readings {
		if readings[i].kind == k {
			return readings[i]
		}
	}
	return reading{spec: func(*v1alpha1.TidbCluster) (component, bool) { return component{}, false }}
}

// part returns a component's spec, if the TidbCluster has one.
func part(tc *v1alpha1.TidbCluster, k Kind) (component, bool) { return readingOf(k).spec(tc) }

// FieldOf returns the field of a TidbCluster that has the spec of a component, e.g. spec.tikv.
func FieldOf(tc *v1alpha1.TidbCluster, k Kind) *field.Path {
	if spec, ok := part(tc, k); ok && spec.at != nil {
		return spec.at
	}
	return field.NewPath("spec", string(k))
}

// Replicas returns the field with the number of a component's members, nil where there is no such
// component.
func Replicas(tc *v1alpha1.TidbCluster, k Kind) *int32 {
	spec, _ := part(tc, k)
	return spec.replicas
}

// annRestarted is an annotation of pods with the time of the last restart that a user has asked for.
// tidb-operator's users know it for that.
const annRestarted = "tidb.pingcap.com/restartedAt"

// AskRestart asks in the spec for a restart of a component's members: another annotation is another
// pod template.
func AskRestart(tc *v1alpha1.TidbCluster, k Kind, at time.Time) {
	spec, _ := part(tc, k)
	if spec.Annotations == nil {
		spec.Annotations = map[string]string{}
	}
	spec.Annotations[annRestarted] = at.UTC().Format(time.RFC3339)
}

// SetOwnVersion sets a component's own version in the spec. It reports false where the TidbCluster does not have the
// component.
func SetOwnVersion(tc *v1alpha1.TidbCluster, k Kind, version string) bool {
	spec, has := part(tc, k)
	if has {
		spec.Version = &version
	}
	return has
}

// SetStorage sets the storage class and the size of the volumes with a component's data; "" and 0 leave what is there.
// It fails where a member has several volumes with data, because one size says too little then.
func SetStorage(tc *v1alpha1.TidbCluster, k Kind, class string, size Size) error {
	spec, _ := part(tc, k)
	if size > 0 && len(spec.disks) > 1 {
		return fmt.Errorf("each member of %s has %d volumes with data, so that the size of each is set in the TidbCluster", k.Title(), len(spec.disks))
	}
	for _, d := range spec.disks {
		if class != "" && d.hasAttributes(spec) {
			return fmt.Errorf("with a volumeAttributesClassName, another storage class has no effect on %s: take the volumeAttributesClassName out of the TidbCluster first", k.Title())
		}
		if size > 0 && d.requests != nil {
			d.requests[corev1.ResourceStorage] = size.Quantity()
		}
		if class != "" {
			d.setClass(spec, &class)
		}
	}
	return nil
}

// RestoreStorage sets the storage class and the size of a component's volumes to those of the claim templates that there
// are. So a change of the spec that was not carried out is taken back. It leaves a class that is not compared with a
// claim template.
func RestoreStorage(tc *v1alpha1.TidbCluster, k Kind, templates map[string]Volume) {
	spec, _ := part(tc, k)
	wanted := Group{Volumes: volumes(k, spec)}
	for _, d := range spec.disks {
		want, _ := wanted.Volume(d.volume)
		have, there := templates[d.volume]
		if there && d.requests != nil {
			d.requests[corev1.ResourceStorage] = have.Size.Quantity()
		}
		switch {
		case !there || want.Class == "" || want.Class == have.Class:
		case have.Class == "":
			d.setClass(spec, nil)
		default:
			d.setClass(spec, &have.Class)
		}
	}
	for i := range spec.volumes {
		if have, there := templates[string(k)+"-"+spec.volumes[i].Name]; there {
			restoreAdded(&spec.volumes[i], spec, have)
		}
	}
}

// restoreAdded sets the class and the size of a volume of storageVolumes to those of its claim template.
func restoreAdded(v *v1alpha1.StorageVolume, spec component, have Volume) {
	v.StorageSize = have.Size.String()
	switch class := classWith(ownOr(v.VolumeAttributesClassName, spec.attributes), ownOr(v.StorageClassName, fieldValue(spec.class))); {
	case class == "" || class == have.Class:
	case have.Class == "":
		v.StorageClassName = nil
		if spec.class != nil {
			*spec.class = nil
		}
	default:
		v.StorageClassName = &have.Class
	}
}

func (d disk) hasAttributes(spec component) bool {
	if d.class != nil {
		return d.attributes != nil
	}
	return spec.attributes != nil
}

// setClass sets the disk's own storage class, or that of the component where the disk has none.
func (d disk) setClass(spec component, class *string) {
	if d.class != nil {
		*d.class = class
	} else {
		*spec.class = class
	}
}

// settings returns how many keys a component's configuration has, -1 without a configuration.
func settings(tc *v1alpha1.TidbCluster, k Kind) int {
	spec, _ := part(tc, k)
	if len(spec.configs) == 0 {
		return -1
	}
	n := 0
	for _, c := range spec.configs {
		n += len(c.MP)
	}
	return n
}

// listOf returns a configuration as a list of one, an empty one for none.
func listOf(c *config.GenericConfig) []*config.GenericConfig {
	if c == nil {
		return nil
	}
	return []*config.GenericConfig{c}
}

// EmptyConfig returns the commands that give a component the default configuration. An entry of a list is edited by a
// person, because a patch replaces the whole list.
func (c Cluster) EmptyConfig(k Kind) []remedy.Command {
	if spec, _ := part(c.Source, k); spec.at != nil {
		return []remedy.Command{c.Plugin("edit")}
	}
	return []remedy.Command{c.Patch(fmt.Sprintf(`{%q:{"config":%s}}`, k, readingOf(k).noConfig)), c.Plugin("sync")}
}
