package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// applied is the annotation in which tidb-operator and the plugin record the StatefulSet that was written.
const applied = "pingcap.com/last-applied-configuration"

// likeOperators makes a cluster whose pods take as long to restart as those of tidb-operator: its log container
// ignores SIGTERM, so that each pod of TiDB takes its whole grace period to end, and TiDB's probe looks after ten
// seconds at the earliest. The plugin keeps both when it takes a cluster over.
func (t target) likeOperators(ctx context.Context) error {
	if r := t.plugin.Run(ctx, nil, operations[0].args...); r.Code != 0 {
		return fmt.Errorf("create: %s", r.Stderr)
	}
	if err := t.ignoreTerm(ctx); err != nil {
		return err
	}
	patch := `{"spec":{"tidb":{"readinessProbe":null}}}`
	if _, err := t.node.Kubectl(ctx, "", "-n", t.plugin.Namespace, "patch", "tidbcluster", cluster, "--type=merge", "-p", patch); err != nil {
		return err
	}
	if r := t.plugin.Run(ctx, nil, "sync", cluster); r.Code != 0 {
		return fmt.Errorf("sync: %s", r.Stderr)
	}
	return t.ignoresTerm(ctx)
}

// ignoreTerm gives the log container of TiDB the command that tidb-operator v1.6.5 gives it. The pods get it when they
// are restarted next.
func (t target) ignoreTerm(ctx context.Context) error {
	sets := t.node.Kube.AppsV1().StatefulSets(t.plugin.Namespace)
	set, err := sets.Get(ctx, cluster+"-tidb", metav1.GetOptions{})
	if err != nil {
		return err
	}
	var spec appsv1.StatefulSetSpec
	if err := json.Unmarshal([]byte(set.Annotations[applied]), &spec); err != nil {
		return err
	}
	if !operatorsCommand(&spec) || !operatorsCommand(&set.Spec) {
		return errors.New("TiDB has no container that prints its slow log")
	}
	record, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	set.Annotations[applied] = string(record)
	_, err = sets.Update(ctx, set, metav1.UpdateOptions{})
	return err
}

// operatorsCommand makes the command of the log container that of tidb-operator, and reports whether there is one.
func operatorsCommand(spec *appsv1.StatefulSetSpec) bool {
	for i := range spec.Template.Spec.Containers {
		if c := &spec.Template.Spec.Containers[i]; c.Name == "slowlog" && len(c.Command) == 3 {
			file, _, _ := strings.Cut(strings.TrimPrefix(c.Command[2], "trap 'exit 0' TERM; touch "), ";")
			c.Command[2] = fmt.Sprintf("touch %[1]s; tail -n0 -F %[1]s;", file)
			return true
		}
	}
	return false
}

// ignoresTerm returns an error unless the plugin has kept what makes the pods of TiDB end late.
func (t target) ignoresTerm(ctx context.Context) error {
	names, err := t.podsOf(ctx, "tidb")
	if err != nil {
		return err
	}
	for _, name := range names {
		pod, err := t.node.Kube.CoreV1().Pods(t.plugin.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range pod.Spec.Containers {
			if c.Name == "slowlog" && strings.Contains(c.Command[2], "trap") || c.Name == "tidb" && c.ReadinessProbe.InitialDelaySeconds < 10 {
				return fmt.Errorf("pod %s, container %s: not like that of tidb-operator: %q", name, c.Name, c.Command)
			}
		}
	}
	return nil
}
