package render

import (
	"fmt"

	"github.com/pingcap/tidb-operator/pkg/apis/util/config"
	"github.com/pingcap/tidb-operator/pkg/apis/util/toml"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// keyOverlay in a ConfigMap holds settings by which tidb-operator overrides the configuration for a
// while. As long as a restore to a point in time runs, TiKV must not collect the versions of data
// that the restore writes.
const keyOverlay = "config-file-overlay"

// overlaid returns the configuration with the overlay of the ConfigMap in use. Without it
// a store that restarts during the restore would lose data.
func overlaid(c *config.GenericConfig, used *corev1.ConfigMap) (*config.GenericConfig, error) {
	if used == nil || used.Data[keyOverlay] == "" {
		return c, nil
	}
	over := map[string]any{}
	if err := toml.Unmarshal([]byte(used.Data[keyOverlay]), &over); err != nil {
		return nil, fmt.Errorf("read %s of ConfigMap %s: %w", keyOverlay, used.Name, err)
	}
	result := c.DeepCopy()
	lay(over, result.MP)
	return result, nil
}

// lay overrides settings of a table.
func lay(over, table map[string]any) {
	for key, value := range over {
		inner, ok := value.(map[string]any)
		beneath, there := table[key].(map[string]any)
		if ok && there {
			lay(inner, beneath)
			continue
		}
		table[key] = value
	}
}

// notAsked reports settings in the ConfigMap in use that the spec does not ask for.
func notAsked(comp component, used *corev1.ConfigMap, wanted map[string]string) []desired.Notice {
	c, title := comp.cluster, comp.Kind.Title()
	switch {
	case used == nil:
		return nil
	case used.Data[keyOverlay] != "":
		return []desired.Notice{{
			Reason: event.RestoreSettings, Component: comp.Kind,
			Text: fmt.Sprintf("ConfigMap %s of %s has settings of a restore in its key %s; they stay as long as the key is there", used.Name, title, keyOverlay),
			Remedy: remedy.Remedy{
				remedy.Run("tidb-operator removes it when the restore ends; see", remedy.Kubectl("", "get", "restores.pingcap.com", "-A")),
				remedy.Run("where none runs any more", c.Kubectl("patch", "configmap", used.Name, "--type", "json", "-p",
					fmt.Sprintf(`[{"op":"remove","path":"/data/%s"}]`, keyOverlay))),
			},
		}}
	case !comp.Configured && !sameMeaning(used.Data, wanted):
		return []desired.Notice{{
			Reason: event.ConfigurationNotAsked, Component: comp.Kind,
			Text:   fmt.Sprintf("%s is not set, so the configuration in ConfigMap %s stays, which is not the default", comp.configField(), used.Name),
			Remedy: remedy.Remedy{remedy.Run("to go back to the default", c.EmptyConfig(comp.Kind)...)},
		}}
	}
	return nil
}
