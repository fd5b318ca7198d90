package apply

import (
	"context"
	"slices"
	"strings"

	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// read returns the TidbClusters of the manifests, and the objects beside them. A name picks one TidbCluster.
func (o Files) read(ctx context.Context, f *factory.Factory, name []string) ([]*intent.Manifest, []intent.Other, error) {
	namespace, err := f.Namespace()
	if err != nil {
		return nil, nil, err
	}
	sources, err := o.sources(ctx, f)
	if err != nil {
		return nil, nil, err
	}
	all, others, err := intent.Parse(sources...)
	switch {
	case err != nil:
		return nil, nil, exit.With(exit.Usage, err)
	case len(all) == 0:
		return nil, nil, exit.Usagef("there is no TidbCluster in %s%s", o, beside(others))
	}
	explicit := *f.Flags.Namespace != ""
	if len(name) > 0 {
		if all, err = o.pick(all, name[0], namespace, explicit); err != nil {
			return nil, nil, err
		}
	}
	for _, m := range all {
		if err := m.InNamespace(namespace, explicit); err != nil {
			return nil, nil, exit.With(exit.Usage, err)
		}
	}
	if err := distinct(all); err != nil {
		return nil, nil, err
	}
	if len(name) > 0 && len(all) > 1 {
		return nil, nil, exit.Usagef("TidbClusters of several namespaces in %s have the name %s: give one namespace with -n (%s)", o, name[0], namespaces(all))
	}
	return all, others, nil
}

// pick returns the TidbClusters with a name. A namespace that the user has given decides between several.
func (o Files) pick(all []*intent.Manifest, name, namespace string, explicit bool) ([]*intent.Manifest, error) {
	found := slices.DeleteFunc(slices.Clone(all), func(m *intent.Manifest) bool { return m.Cluster.Name != name })
	if len(found) == 0 {
		return nil, exit.Usagef("there is no TidbCluster %q in %s, which has %s", name, o, names(all))
	}
	if explicit && len(found) > 1 {
		found = slices.DeleteFunc(found, func(m *intent.Manifest) bool {
			return m.Cluster.Namespace != "" && m.Cluster.Namespace != namespace
		})
	}
	if len(found) == 0 {
		return nil, exit.Usagef("there is no TidbCluster %q for namespace %s in %s", name, namespace, o)
	}
	return found, nil
}

// distinct refuses manifests that have the same TidbCluster twice. It would be unknown which one is wanted.
func distinct(all []*intent.Manifest) error {
	files := map[cache.ObjectName]string{}
	for _, m := range all {
		name := cache.MetaObjectToName(m.Cluster)
		switch first, twice := files[name]; {
		case twice && first == m.File:
			return exit.Usagef("%s has TidbCluster %s twice: take one of the two out", first, name)
		case twice:
			return exit.Usagef("%s and %s both have TidbCluster %s: leave one of the files out", first, m.File, name)
		}
		files[name] = m.File
	}
	return nil
}

// beside names objects of other kinds after the word for where they are, "" for none.
func beside(others []intent.Other) string {
	if len(others) == 0 {
		return ""
	}
	texts := make([]string, len(others))
	for i, o := range others {
		texts[i] = o.String()
	}
	text := ", and other kinds are for kubectl to apply: " + strings.Join(texts, ", ")
	if slices.ContainsFunc(others, intent.Other.Undriven) {
		text += "; clusters of tidb-operator v2 (core.pingcap.com) and of DM are not driven by kubectl tidb"
	}
	return text
}

func names(all []*intent.Manifest) string {
	texts := make([]string, len(all))
	for i, m := range all {
		texts[i] = m.Cluster.Name
	}
	return strings.Join(texts, ", ")
}

func namespaces(all []*intent.Manifest) string {
	texts := make([]string, len(all))
	for i, m := range all {
		texts[i] = m.Cluster.Namespace
	}
	return strings.Join(texts, ", ")
}
