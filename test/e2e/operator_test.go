package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// elsewhere is a namespace with a tidb-operator that serves no other.
const elsewhere = "e2e-operator"

// namespacedOperator looks like tidb-operator as its chart installs it with
// clusterScoped: false; its program does nothing.
const namespacedOperator = `apiVersion: v1
kind: ServiceAccount
metadata: {name: tidb-controller-manager, namespace: ` + elsewhere + `}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: tidb-controller-manager, namespace: ` + elsewhere + `}
rules:
- {apiGroups: [pingcap.com], resources: ["*"], verbs: ["*"]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: tidb-controller-manager, namespace: ` + elsewhere + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: tidb-controller-manager}
subjects:
- {kind: ServiceAccount, name: tidb-controller-manager, namespace: ` + elsewhere + `}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: program, namespace: ` + elsewhere + `}
data:
  tidb-controller-manager: "#!/bin/sh\nexec sleep 100000\n"
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: tidb-controller-manager
  namespace: ` + elsewhere + `
  labels: &labels {app.kubernetes.io/name: tidb-operator, app.kubernetes.io/component: controller-manager}
spec:
  replicas: 1
  selector: {matchLabels: *labels}
  template:
    metadata: {labels: *labels}
    spec:
      serviceAccountName: tidb-controller-manager
      terminationGracePeriodSeconds: 0
      containers:
      - name: tidb-operator
        image: busybox
        imagePullPolicy: IfNotPresent
        command: [/usr/local/bin/tidb-controller-manager, -cluster-scoped=false, -auto-failover=true, -v=2]
        env:
        - {name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
        volumeMounts: [{name: program, mountPath: /usr/local/bin}]
      volumes: [{name: program, configMap: {name: program, defaultMode: 0755}}]
`

// operatorElsewhere: a tidb-operator that may do nothing in this namespace drives
// nothing in it, so a command drives, at once and to the end.
func (s environment) operatorElsewhere(t *testing.T) {
	operator := shared.in(elsewhere)
	if err := operator.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { operator.remove(t) })
	kubectl(t, namespacedOperator, "apply", "-f", "-")
	kubectl(t, "", "-n", elsewhere, "rollout", "status", "deployment/tidb-controller-manager", "--timeout="+patience.String())
	operator.renewLease(t)
	for _, servers := range []int{2, 1} {
		r := s.tidb(t, 0, "scale", cluster, fmt.Sprint("tidb=", servers), "--timeout", "2m", "--no-follow")
		if strings.Contains(r.Stderr, "following, making no changes") {
			t.Errorf("the command has left the work to an operator of another namespace:\n%s", r.Stderr)
		}
		s.wantConverged(t, 1, 3, servers, from)
	}
}

// renewLease holds the operator's lease until the test ends.
func (s environment) renewLease(t *testing.T) {
	t.Helper()
	leases := s.Kube.CoordinationV1().Leases(s.plugin.Namespace)
	holder, lasts, now := "tidb-controller-manager_of_a_test", int32(15), metav1.NowMicro()
	lease, err := leases.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "tidb-controller-manager"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: &lasts, AcquireTime: &now, RenewTime: &now,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for tick := time.NewTicker(2 * time.Second); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
			now := metav1.NowMicro()
			lease.Spec.RenewTime = &now
			if renewed, err := leases.Update(ctx, lease, metav1.UpdateOptions{}); err == nil {
				lease = renewed
			}
		}
	}()
}
