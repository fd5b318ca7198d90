package topology

import (
	"fmt"
	"strings"
	"testing"
)

func TestReferences(t *testing.T) {
	tc := written(t, `
imagePullSecrets: [{name: pull}]
pd:
  storageClassName: fast
  storageVolumes: [{name: a, storageSize: 1Gi, storageClassName: slow}]
  env:
  - {name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}
  - {name: B, valueFrom: {configMapKeyRef: {name: c, key: k}}}
  - {name: C, valueFrom: {configMapKeyRef: {name: maybe, key: k, optional: true}}}
  - {name: D, value: d}
  envFrom: [{secretRef: {name: e}}, {configMapRef: {name: f}}, {secretRef: {name: maybe, optional: true}}]
tikv:
  storageClassName: ""
  imagePullSecrets: [{name: own}]
  additionalVolumes:
  - {name: v, secret: {secretName: vs}}
  - {name: w, configMap: {name: vc}}
  - {name: x, emptyDir: {}}
tidb:
  storageClassName: unused
  bootstrapSQLConfigMapName: sql
  tokenBasedAuthEnabled: true
`)
	var got []string
	for _, r := range References(New(tc)) {
		got = append(got, fmt.Sprintf("%s %s %s %s", r.Component, r.Kind, r.Name, r.Field))
	}
	want := []string{
		" Secret pull spec.imagePullSecrets[0].name",
		"pd StorageClass fast spec.pd.storageClassName",
		"pd StorageClass slow spec.pd.storageVolumes[0].storageClassName",
		"pd Secret s spec.pd.env[0].valueFrom.secretKeyRef.name",
		"pd ConfigMap c spec.pd.env[1].valueFrom.configMapKeyRef.name",
		"pd Secret e spec.pd.envFrom[0].secretRef.name",
		"pd ConfigMap f spec.pd.envFrom[1].configMapRef.name",
		"tikv Secret own spec.tikv.imagePullSecrets[0].name",
		"tikv Secret vs spec.tikv.additionalVolumes[0].secret.secretName",
		"tikv ConfigMap vc spec.tikv.additionalVolumes[1].configMap.name",
		"tidb ConfigMap sql spec.tidb.bootstrapSQLConfigMapName",
		"tidb Secret basic-tidb-auth-token-jwks-secret spec.tidb.tokenBasedAuthEnabled",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
