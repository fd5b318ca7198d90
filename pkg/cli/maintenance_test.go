package cli

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

func nodeNamed(name string, annotations map[string]any) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": name, "resourceVersion": "1", "annotations": annotations}}
}

const nodeUnderMaintenance = `apiVersion: kubectl-tidb/v1
items:
- apiVersion: kubectl-tidb/v1
  by: bob@desk
  clusters:
  - members: []
    name: b
    namespace: a
  cordonedBefore: false
  kind: NodeMaintenance
  metadata:
    name: node-2
  node: node-2
  since: "2026-03-01T12:00:00Z"
kind: NodeMaintenanceList
`

// TestMaintenance: where there is nothing to do nothing is changed, and a right that is missing is named.
func TestMaintenance(t *testing.T) {
	const all = "/apis/pingcap.com/v1alpha1/tidbclusters"
	list := func(kind string, items ...any) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": kind + "List", "items": items}
	}
	stray := map[string]any{"metadata": map[string]any{"namespace": "old", "name": "x-tikv-0", "labels": map[string]any{
		"app.kubernetes.io/instance": "x", "app.kubernetes.io/component": "tikv",
	}}}
	record := map[string]any{"kubectl-tidb/maintenance": `{"since":"2026-03-01T12:00:00Z","by":"bob@desk","clusters":[{"namespace":"a","name":"b","members":null}]}`}
	answers := map[string]any{
		all: clusterList(tidbcluster("basic")), tidbclusters: clusterList(tidbcluster("basic")),
		"/api/v1/nodes":        list("Node", nodeNamed("node-1", nil), nodeNamed("node-2", record)),
		"/api/v1/nodes/other":  apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, "other"),
		"/api/v1/nodes/node-1": nodeNamed("node-1", nil), "/api/v1/nodes/node-2": nodeNamed("node-2", map[string]any{"kubectl-tidb/maintenance": "?"}),
		"/api/v1/pods": list("Pod", stray), "/api/v1/namespaces/default/pods": list("Pod"),
	}
	without := map[string]any{
		all: clusterList(), tidbclusters: clusterList(), "/api/v1/namespaces/default/pods": list("Pod"),
		"/api/v1/pods":         apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no")),
		"/api/v1/nodes/node-1": apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "node-1", errors.New("no")),
	}
	broken := map[string]any{"/api/v1/nodes": list("Node", nodeNamed("node-3", map[string]any{"kubectl-tidb/maintenance": "?"}))}
	marked := tidbcluster("basic")
	marked["metadata"].(map[string]any)["annotations"] = map[string]any{"kubectl-tidb/maintenance": `{"other":{"by":"ann@desk","since":"2026-03-01T12:00:00Z"}}`}
	lost := map[string]any{all: clusterList(marked), "/api/v1/nodes": list("Node", nodeNamed("node-1", nil))}
	for _, c := range []struct {
		args    string
		answers map[string]any
		code    exit.Code
		out     string
		says    string
	}{
		{"start node-1", answers, exit.OK, "node-1 has no member of a cluster; nothing was changed\n", "warning: pod old/x-tikv-0 was not checked"},
		{"start node-1 -n default", answers, exit.OK, "node-1 has no member of a cluster; nothing was changed\n", ""},
		{"start other", answers, exit.Usage, "", "there is no node other"},
		{"start node-2", answers, exit.Refused, "", "annotation kubectl-tidb/maintenance of node node-2 cannot be read"},
		{"start node-1 --timeout -1s", answers, exit.Usage, "", "--timeout must not be negative"},
		{"stop node-1", answers, exit.OK, "node-1 is not under maintenance; nothing was changed\n", ""},
		{"stop node-1 --timeout -1s", answers, exit.Usage, "", "--timeout must not be negative"},
		{"list", answers, exit.OK, "NODE     SINCE                  BY         CLUSTERS\nnode-2   2026-03-01T12:00:00Z   bob@desk   a/b\n", ""},
		{"list", map[string]any{"/api/v1/nodes": list("Node")}, exit.OK, "", "No node is under maintenance."},
		{"list", broken, exit.OK, "NODE     SINCE     BY        CLUSTERS\nnode-3   unknown   unknown   unknown\n", "of node node-3 cannot be read"},
		{"list", lost, exit.OK, "NODE    SINCE                  BY         CLUSTERS\nother   2026-03-01T12:00:00Z   ann@desk   default/basic\n",
			"node other was deleted or made again during its maintenance; to end it: kubectl tidb maintenance stop other"},
		{"list -o jsonpath={.items[0].node}{.items[0].recordLost}", lost, exit.OK, "othertrue", "maintenance stop other"},
		{"list", map[string]any{"/api/v1/nodes": list("Node")}, exit.OK, "", "warning: nodes under maintenance that do not exist any more are not shown"},
		{"stop other", answers, exit.Usage, "", "there is no node other"},
		{"list -o name", answers, exit.OK, "node/node-2\n", ""},
		{"list -o yaml", answers, exit.OK, nodeUnderMaintenance, ""},
		{"list -o yaml", map[string]any{"/api/v1/nodes": list("Node")}, exit.OK, "apiVersion: kubectl-tidb/v1\nitems: []\nkind: NodeMaintenanceList\n", ""},
		{"list -o jsonpath={.items[0].node}{.items[0].since}{.items[0].clusters}", broken, exit.OK, "node-3[]", "of node node-3 cannot be read"},
		{"list -o text", answers, exit.Usage, "", "supported formats"},
		{"", answers, exit.Usage, "", "start, stop or list"},
		{"begin", answers, exit.Usage, "", `"begin" is none of start, stop and list`},
		{"start node-1", without, exit.Forbidden, "", "give it with -n"},
		{"start node-1 -n default", without, exit.Forbidden, "", "get node node-1"},
	} {
		s := serve(t, c.answers)
		r := s.call(t, append([]string{"maintenance"}, strings.Fields(c.args)...)...)
		if r.code != int(c.code) || r.out != c.out || !strings.Contains(r.err, c.says) {
			t.Errorf("%s: %+v; want %d, %q, %q", c.args, r, c.code, c.out, c.says)
		}
		for _, asked := range s.asked() {
			if !strings.HasPrefix(asked, "GET ") {
				t.Errorf("%s: %s", c.args, asked)
			}
		}
	}
}
