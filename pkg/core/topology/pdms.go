package topology

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// services is the field of the spec with the services of PD.
const services = "pdms"

// modeMicroservices is the mode of PD in which services of their own give timestamps and schedule.
const modeMicroservices = "ms"

// Microservices reports whether PD leaves timestamps and scheduling to services. As with tidb-operator, the mode
// counts only where the spec has such services.
func Microservices(tc *v1alpha1.TidbCluster) bool {
	return tc.Spec.PD != nil && tc.Spec.PD.Mode == modeMicroservices && len(tc.Spec.PDMS) > 0
}

// ListsIn returns the lists of components that a merge patch of the spec replaces. Such a patch would undo what another
// person has written into the list meanwhile.
func ListsIn(patch []byte) []string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(patch, &fields) != nil || fields[services] == nil {
		return nil
	}
	return []string{"spec." + services}
}

// ConfigPatch returns a merge patch of the spec that sets the configuration of a component, which the spec has.
func ConfigPatch(tc *v1alpha1.TidbCluster, k Kind, config any) map[string]any {
	spec, _ := part(tc, k)
	if spec.at == nil {
		return map[string]any{string(k): map[string]any{"config": config}}
	}
	var list []any
	for _, s := range tc.Spec.PDMS {
		entry, _ := decoded(encoded(s)).(map[string]any)
		if s != nil && s.Name == string(k) {
			entry["config"] = config
		}
		list = append(list, entry)
	}
	return map[string]any{services: list}
}

// Own returns the component's part of the spec, nil where the spec has none.
func Own(tc *v1alpha1.TidbCluster, k Kind) any {
	spec, _ := part(tc, k)
	return spec.whole
}

var (
	readTSO        = readService(TSO, "PD gives no timestamps without it")
	readScheduling = readService(Scheduling, "to have no such service set its replicas to 0")
)

// readService reads a service of PD, which is an entry of a list.
func readService(k Kind, instead string) reading {
	return reading{
		kind: k,
		spec: func(tc *v1alpha1.TidbCluster) (component, bool) {
			i := slices.IndexFunc(tc.Spec.PDMS, func(s *v1alpha1.PDMSSpec) bool { return s != nil && s.Name == string(k) })
			if i < 0 {
				return component{}, false
			}
			return serviceSpec(tc, i), true
		},
		defaults: func(tc *v1alpha1.TidbCluster) {
			if s := serviceOf(tc, k); s.Config == nil || s.Config.GenericConfig == nil {
				s.Config = v1alpha1.NewPDConfig()
			}
		},
		certificates: func(c Cluster) []Certificate {
			if c.TLS.Members && isTrue(serviceOf(c.Source, k).MountClusterClientSecret) {
				return []Certificate{c.clientCertificate()}
			}
			return nil
		},
		acceptedNames: acceptedNames,
		warnings:      func(_ *Cluster, c Cluster, at *field.Path) []Warning { return ofService(serviceOf(c.Written, k), at) },
		noConfig:      `""`,
		instead:       instead,
	}
}

// serviceOf returns the entry of a service, which the spec has.
func serviceOf(tc *v1alpha1.TidbCluster, k Kind) *v1alpha1.PDMSSpec {
	i := slices.IndexFunc(tc.Spec.PDMS, func(s *v1alpha1.PDMSSpec) bool { return s != nil && s.Name == string(k) })
	return tc.Spec.PDMS[i]
}

// PDService returns the entry of a service of PD with its defaults. The spec has one for each group of services.
func (c Cluster) PDService(k Kind) *v1alpha1.PDMSSpec { return serviceOf(c.Source, k) }

func serviceSpec(tc *v1alpha1.TidbCluster, i int) component {
	s := tc.Spec.PDMS[i]
	image := s.BaseImage
	if image == nil { // the user's spec gets no value that the user has not written
		image = new(string)
	}
	c := component{
		ComponentSpec: &s.ComponentSpec, whole: s, accessor: tc.BasePDMSSpec(s), image: tc.PDMSImage(s), baseImage: image,
		replicas: &s.Replicas, at: field.NewPath("spec", services).Index(i),
	}
	if s.Config != nil {
		c.configs = listOf(s.Config.GenericConfig)
	}
	return c
}

// ofService returns warnings about fields of a service that have no effect, neither here nor with tidb-operator.
func ofService(s *v1alpha1.PDMSSpec, at *field.Path) []Warning {
	var warnings []Warning
	if len(s.AdditionalVolumeMounts) > 0 {
		warnings = append(warnings, warn(at.Child("additionalVolumeMounts"), "has no effect: a service of PD mounts no volumes but its own"))
	}
	if s.ReadinessProbe != nil {
		warnings = append(warnings, warn(at.Child("readinessProbe"), "has no effect: services of PD have no probes"))
	}
	if s.TLSClientSecretName != nil {
		warnings = append(warnings, warn(at.Child("tlsClientSecretName"), "has no effect: services of PD do not connect to TiDB"))
	}
	if s.Service != nil && s.Service.Port != nil {
		warnings = append(warnings, warn(at.Child("service", "port"), fmt.Sprintf("has no effect: the Service has port %d", PDClientPort)))
	}
	return warnings
}

// leastMicroservices is the first major version whose PD is documented to run as services.
const leastMicroservices = 8

// validateServices refuses services without the mode, the mode without the service that gives timestamps, and
// services that do not exist. An operator ignores the first, and starts a cluster that cannot serve with the second.
func validateServices(c Cluster) field.ErrorList {
	spec, at := c.Source.Spec, field.NewPath("spec")
	errs := validateServiceNames(spec.PDMS, at.Child(services))
	mode := ""
	if spec.PD != nil {
		mode = spec.PD.Mode
	}
	switch tso, has := c.Group(TSO); {
	case mode != "" && mode != modeMicroservices:
		errs = append(errs, field.NotSupported(at.Child("pd", "mode"), mode, []string{"", modeMicroservices}))
	case mode == "" && len(spec.PDMS) > 0:
		errs = append(errs, field.Forbidden(at.Child(services),
			"PD runs without services, because spec.pd.mode is not ms: set the mode when the cluster is made, or take pdms out"))
	case mode == "":
	case !has:
		errs = append(errs, field.Required(at.Child(services),
			"spec.pd.mode is ms, and PD gives no timestamps then: add the service tso, or take the mode out"))
	case tso.Replicas == 0:
		errs = append(errs, field.Invalid(FieldOf(c.Source, TSO).Child("replicas"), 0,
			"spec.pd.mode is ms, and PD gives no timestamps then: at least one member of tso is needed"))
	}
	if mode == modeMicroservices {
		errs = append(errs, validateServiceVersions(c)...)
	}
	return errs
}

// validateServiceVersions refuses releases that have no services, and services of a release that PD does not have yet.
func validateServiceVersions(c Cluster) field.ErrorList {
	var errs field.ErrorList
	pd, _ := c.Group(PD)
	for _, k := range append([]Kind{PD}, Services()...) {
		g, ok := c.Group(k)
		if !ok {
			continue
		}
		at := FieldOf(c.Source, k).Child("version")
		if newer, err := IsDowngrade(g.Version, pd.Version); err == nil && newer {
			errs = append(errs, field.Invalid(at, g.Version, fmt.Sprintf("PD has %s, and no service may be newer than PD: upgrade PD first", pd.Version)))
		}
		if BeforeMajor(g.Version, leastMicroservices) {
			errs = append(errs, field.Invalid(at, g.Version, fmt.Sprintf("spec.pd.mode is ms, and PD runs as services from v%d.0.0 on", leastMicroservices)))
		}
	}
	return errs
}

func validateServiceNames(all []*v1alpha1.PDMSSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	var names, seen []string
	for _, k := range Services() {
		names = append(names, string(k))
	}
	for i, s := range all {
		one := at.Index(i)
		switch {
		case s.Name == "":
			errs = append(errs, field.Required(one.Child("name"), "must be the name of a service of PD: "+enumerate(names)))
		case !slices.Contains(names, s.Name):
			errs = append(errs, field.NotSupported(one.Child("name"), s.Name, names))
		case slices.Contains(seen, s.Name):
			errs = append(errs, field.Duplicate(one.Child("name"), s.Name))
		}
		seen = append(seen, s.Name)
		if len(s.StorageVolumes) > 0 {
			errs = append(errs, notYet(one.Child("storageVolumes"), "volumes of services of PD, which keep no data"))
		}
	}
	return errs
}

// updateMode refuses to change who gives timestamps in a cluster that exists. While PD's members are restarted for that,
// there may be nobody who gives timestamps, or two who do.
func updateMode(old, tc *v1alpha1.TidbCluster) field.ErrorList {
	was, is := Microservices(old), Microservices(tc)
	if was == is || old.Status.ClusterID == "" {
		return nil
	}
	return field.ErrorList{ModeFixed(was)}
}

// ModeFixed is the error for a change of who gives timestamps; inServices says who does now.
func ModeFixed(inServices bool) *field.Error {
	at := field.NewPath("spec", "pd", "mode")
	if inServices {
		return field.Forbidden(at, "services of PD give timestamps, which could stop while PD takes over from them: "+
			"set the mode back to ms, or make a new cluster without it and move the data")
	}
	return field.Forbidden(at, "PD itself gives timestamps, which could stop while services take over from PD: "+
		"take the mode out, or make a new cluster with it and move the data")
}
