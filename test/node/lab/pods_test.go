//go:build linux

package lab

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// server is a pod that serves its name, and the times at which it started, from its volume.
func server(name, host, class string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %[1]s}
spec: {accessModes: [ReadWriteOnce], storageClassName: %[3]s, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Service
metadata: {name: %[1]s}
spec: {clusterIP: None, selector: {app: %[1]s}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: %[1]s}
spec:
  serviceName: %[1]s
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s, serves: "true"}}
    spec:
      terminationGracePeriodSeconds: 1
      affinity:
        nodeAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 100
            preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%[2]s]}]}
      containers:
      - name: server
        image: busybox
        imagePullPolicy: IfNotPresent
        command: [sh, -c, "echo %[1]s > /data/name; echo started >> /data/starts; exec httpd -f -p 80 -h /data"]
        readinessProbe: {httpGet: {path: /name, port: 80}, periodSeconds: 1}
        volumeMounts: [{name: data, mountPath: /data}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: %[1]s}}]
---
`, name, host, class)
}

// service spreads connections over all servers.
const service = `
apiVersion: v1
kind: Service
metadata: {name: any}
spec: {selector: {serves: "true"}, ports: [{port: 80}]}
`

// pod names the pod of a server.
func pod(server string) string { return server + "-0" }

// address of a server's pod.
func (l lab) address(t *testing.T, server string) string {
	t.Helper()
	return l.get(t, "pod/"+pod(server), ".status.podIP")
}

// fetch asks a server for a file, from the pod of another one.
func (l lab) fetch(from, address, file string) (string, error) {
	// The timeout of busybox's wget ends the program itself.
	return l.tryKubectl("", "exec", pod(from), "--", "timeout", "2", "wget", "-qO-", "http://"+address+"/"+file)
}

// reaches reports whether a pod gets an answer from a server.
func (l lab) reaches(t *testing.T, from, to string) bool {
	t.Helper()
	out, err := l.fetch(from, l.address(t, to), "name")
	return err == nil && out == to
}

// servers, and the host that each is on.
var servers = map[string]string{"a": "node0", "b": "node1", "c": "node2"}

// expect checks which servers a pod reaches.
func (l lab) expect(t *testing.T, from, reached, unreached string) {
	t.Helper()
	for _, to := range strings.Fields(reached) {
		eventually(t, from+" reaches "+to, func() bool { return l.reaches(t, from, to) })
	}
	for _, to := range strings.Fields(unreached) {
		if l.reaches(t, from, to) {
			t.Errorf("%s reaches %s", from, to)
		}
	}
}

// outOfReach checks that an operator does not get into a pod. The API server goes on trying for half a minute.
func (l lab) outOfReach(t *testing.T, server string) {
	t.Helper()
	if out, err := l.kubectlWithin(3*time.Second, "", "exec", pod(server), "--", "true"); err == nil {
		t.Errorf("%s is reached through the API server: %s", server, out)
	}
}

// started counts how often a server has started on its data.
func (l lab) started(t *testing.T, server string) int {
	t.Helper()
	return strings.Count(l.kubectl(t, "exec", pod(server), "--", "cat", "/data/starts"), "started")
}

func (l lab) ready(t *testing.T, server string, restarts string) {
	t.Helper()
	eventually(t, server+" is ready", func() bool {
		out, err := l.tryKubectl("", "get", "pod/"+pod(server), "-o",
			"jsonpath={.status.containerStatuses[0].ready} {.status.containerStatuses[0].restartCount}")
		return err == nil && out == "true "+restarts
	})
}
