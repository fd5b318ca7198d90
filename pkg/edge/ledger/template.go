package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

const templatePrefix = "template."

type template struct {
	Version int    `json:"version"`
	Spec    string `json:"spec"`
	Pods    string `json:"pods"`
}

// EncodeTemplate returns the key and the value of a record of a component's pod template.
func EncodeTemplate(k topology.Kind, t state.Template) (key, value string, err error) {
	b, err := json.Marshal(template(t))
	if err != nil {
		return "", "", fmt.Errorf("encode the record of the pod template of %s: %w", k.Title(), err)
	}
	return templatePrefix + string(k), string(b), nil
}

// readTemplate reads such a record. One that is not complete is none: without its version a pod
// template must not be kept.
func readTemplate(key, value string) (topology.Kind, state.Template, bool) {
	name, ok := strings.CutPrefix(key, templatePrefix)
	var t template
	if !ok || !slices.Contains(topology.Kinds(), topology.Kind(name)) || json.Unmarshal([]byte(value), &t) != nil {
		return "", state.Template{}, false
	}
	return topology.Kind(name), state.Template(t), t.Version > 0 && t.Spec != "" && t.Pods != ""
}
