package topology

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Reference is an object that a spec names and that is not created with the cluster. Pods or claims
// wait until it exists.
type Reference struct {
	Kind  string // StorageClass, VolumeAttributesClass, ConfigMap or Secret
	Name  string
	Field *field.Path
	// Component is the one whose pods or claims need it, "" if all do.
	Component Kind
}

// The kinds of references.
const (
	StorageClass          = "StorageClass"
	VolumeAttributesClass = "VolumeAttributesClass"
	ConfigMap             = "ConfigMap"
	Secret                = "Secret"
)

// References returns the objects that a cluster's members need to start, in the order of the fields
// that name them. Optional ones are left out.
func References(c Cluster) []Reference {
	spec, at := c.Source.Spec, field.NewPath("spec")
	var refs []Reference
	for i, s := range spec.ImagePullSecrets {
		refs = append(refs, Reference{Secret, s.Name, at.Child("imagePullSecrets").Index(i).Child("name"), ""})
	}
	for _, r := range readings {
		part, ok := r.spec(c.Source)
		if !ok {
			continue
		}
		at := FieldOf(c.Source, r.kind)
		refs = append(refs, part.classes(r.kind, at)...)
		refs = append(refs, part.attributesClasses(r.kind, at)...)
		refs = append(refs, part.sources(r.kind, at)...)
		if r.references != nil {
			refs = append(refs, r.references(c, at)...)
		}
	}
	named := refs[:0]
	for _, r := range refs {
		if r.Name != "" {
			named = append(named, r)
		}
	}
	return named
}

// classes returns the storage classes of a component's claims.
func (spec component) classes(k Kind, at *field.Path) []Reference {
	var refs []Reference
	if spec.class != nil && *spec.class != nil && (k.Data() != None || len(spec.volumes) > 0) {
		refs = append(refs, Reference{StorageClass, **spec.class, at.Child("storageClassName"), k})
	}
	for _, d := range spec.disks {
		if d.class != nil && *d.class != nil {
			refs = append(refs, Reference{StorageClass, **d.class, d.classAt, k})
		}
	}
	for i, v := range spec.volumes {
		if v.StorageClassName != nil {
			refs = append(refs, Reference{StorageClass, *v.StorageClassName, at.Child("storageVolumes").Index(i).Child("storageClassName"), k})
		}
	}
	return refs
}

// attributesClasses returns the VolumeAttributesClasses of a component's claims.
func (spec component) attributesClasses(k Kind, at *field.Path) []Reference {
	var refs []Reference
	add := func(name *string, at *field.Path) {
		if name != nil {
			refs = append(refs, Reference{VolumeAttributesClass, *name, at, k})
		}
	}
	if k.Data() != None || len(spec.volumes) > 0 {
		add(spec.attributes, at.Child("volumeAttributesClassName"))
	}
	for _, d := range spec.disks {
		if d.class != nil {
			add(d.attributes, d.at.Child("volumeAttributesClassName"))
		}
	}
	for i, v := range spec.volumes {
		add(v.VolumeAttributesClassName, at.Child("storageVolumes").Index(i).Child("volumeAttributesClassName"))
	}
	return refs
}

// sources returns the ConfigMaps and Secrets that a component's pods read.
func (spec component) sources(k Kind, at *field.Path) []Reference {
	var refs []Reference
	for i, s := range spec.ImagePullSecrets {
		refs = append(refs, Reference{Secret, s.Name, at.Child("imagePullSecrets").Index(i).Child("name"), k})
	}
	add := func(kind, name string, optional *bool, at *field.Path) {
		if optional == nil || !*optional {
			refs = append(refs, Reference{kind, name, at.Child("name"), k})
		}
	}
	for i, e := range spec.Env {
		at := at.Child("env").Index(i).Child("valueFrom")
		if from := e.ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
			add(ConfigMap, from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Optional, at.Child("configMapKeyRef"))
		} else if from != nil && from.SecretKeyRef != nil {
			add(Secret, from.SecretKeyRef.Name, from.SecretKeyRef.Optional, at.Child("secretKeyRef"))
		}
	}
	for i, e := range spec.EnvFrom {
		at := at.Child("envFrom").Index(i)
		if e.ConfigMapRef != nil {
			add(ConfigMap, e.ConfigMapRef.Name, e.ConfigMapRef.Optional, at.Child("configMapRef"))
		}
		if e.SecretRef != nil {
			add(Secret, e.SecretRef.Name, e.SecretRef.Optional, at.Child("secretRef"))
		}
	}
	for i, v := range spec.AdditionalVolumes {
		at := at.Child("additionalVolumes").Index(i)
		refs = append(refs, volumeSource(v, k, at)...)
	}
	return refs
}

func volumeSource(v corev1.Volume, k Kind, at *field.Path) []Reference {
	switch {
	case v.ConfigMap != nil && (v.ConfigMap.Optional == nil || !*v.ConfigMap.Optional):
		return []Reference{{ConfigMap, v.ConfigMap.Name, at.Child("configMap", "name"), k}}
	case v.Secret != nil && (v.Secret.Optional == nil || !*v.Secret.Optional):
		return []Reference{{Secret, v.Secret.SecretName, at.Child("secret", "secretName"), k}}
	}
	return nil
}
