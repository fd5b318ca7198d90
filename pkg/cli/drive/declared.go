package drive

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// appliers are beginnings of the names under which the API server records tools that apply a source again and again.
// The tools are Argo CD, Flux and Helm. Such a tool sets back what somebody else writes into fields that the tool
// owns.
var appliers = []string{"argocd", "kustomize-controller", "helm", "flux"}

// setBack are warnings about fields that the request changes and that such a tool owns. The change belongs into the
// tool's source.
func (p proposal) setBack() []warning {
	if p.Now == nil || p.Want == nil || p.Want == p.Now {
		return nil
	}
	changed := differences(fields(p.Now), fields(p.Want))
	var all []warning
	for _, m := range p.Now.ManagedFields {
		applies := slices.ContainsFunc(appliers, func(name string) bool { return strings.HasPrefix(m.Manager, name) })
		if owned := ownedOf(changed, m); applies && len(owned) > 0 {
			all = append(all, warn("%s owns %s, and will set that back: change it in the source of %s as well",
				m.Manager, strings.Join(owned, ", "), m.Manager))
		}
	}
	return all
}

// ownedOf returns the paths that a manager owns, out of a list, as the API server records owners.
func ownedOf(paths []string, m metav1.ManagedFieldsEntry) []string {
	var all map[string]any
	if m.FieldsV1 == nil || json.Unmarshal(m.FieldsV1.GetRawBytes(), &all) != nil {
		return nil
	}
	var owned []string
	for _, path := range paths {
		at, known := all, true
		for _, name := range strings.Split(path, ".") {
			at, known = at["f:"+name].(map[string]any)
			if !known || len(at) == 0 { // nothing below it is recorded: it is owned as a whole
				break
			}
		}
		if known {
			owned = append(owned, path)
		}
	}
	return owned
}
