package cli

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestCompletion(t *testing.T) {
	t.Setenv("KUBECACHEDIR", t.TempDir()) // what an API server serves is kept there
	server := serve(t, discovery(map[string]any{
		tidbclusters: clusterList(tidbcluster("basic"), tidbcluster("other")),
		"/api/v1/namespaces/default/pods": corev1.PodList{
			TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"},
			Items: []corev1.Pod{
				{
					ObjectMeta: metav1.ObjectMeta{Name: "basic-tikv-0", Labels: map[string]string{"app.kubernetes.io/instance": "basic"}},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "tikv"}, {Name: "slowlog"}}},
				},
				{ObjectMeta: metav1.ObjectMeta{Name: "other-tikv-0", Labels: map[string]string{"app.kubernetes.io/instance": "other"}}},
				{ObjectMeta: metav1.ObjectMeta{Name: "web"}},
			},
		},
		"/api/v1/namespaces/default/persistentvolumeclaims": corev1.PersistentVolumeClaimList{
			TypeMeta: metav1.TypeMeta{Kind: "PersistentVolumeClaimList", APIVersion: "v1"},
			Items: []corev1.PersistentVolumeClaim{
				{ObjectMeta: metav1.ObjectMeta{Name: "tikv-basic-tikv-3", Labels: map[string]string{"app.kubernetes.io/instance": "basic"}}},
				{ObjectMeta: metav1.ObjectMeta{Name: "tikv-basic-tikv-4", Labels: map[string]string{"app.kubernetes.io/instance": "basic"}}},
				{ObjectMeta: metav1.ObjectMeta{Name: "tikv-other-tikv-3", Labels: map[string]string{"app.kubernetes.io/instance": "other"}}},
			},
		},
		"/api/v1/namespaces/default/secrets": corev1.SecretList{
			TypeMeta: metav1.TypeMeta{Kind: "SecretList", APIVersion: "v1"},
			Items:    []corev1.Secret{{ObjectMeta: metav1.ObjectMeta{Name: "s3-access"}}, {ObjectMeta: metav1.ObjectMeta{Name: "tls"}}},
		},
		"/api/v1/namespaces": corev1.NamespaceList{
			TypeMeta: metav1.TypeMeta{Kind: "NamespaceList", APIVersion: "v1"},
			Items:    []corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "db"}}, {ObjectMeta: metav1.ObjectMeta{Name: "db-2"}}},
		},
	}))
	for args, want := range map[string]string{
		"sync -n |":                            "db db-2 :4",
		"sync |":                               "basic other :4",
		"backup basic --from-secret |":         "s3-access tls :4",
		"backup create basic --from-secret t|": "tls :4",
		"delete |":                             "basic other :4",
		"upgrade basic |":                      "v8.1.0 :4",
		"create new --version |":               "v8.1.0 :4",
		"list |":                               ":4",
		"logs |":                               "basic other :4",
		"logs basic pd |":                      "tso scheduling tikv tiflash pump tidb tiproxy ticdc tikv-0 :4",
		"restart basic tikv-|":                 "tikv-0 :4",
		"restart basic tidb basic-|":           "basic-tikv-0 :4",
		"restart basic tikv-0 |":               "pd tso scheduling tikv tiflash pump tidb tiproxy ticdc :4",
		"logs basic -c |":                      "slowlog tikv :4",
		"events --member |":                    "pd tso scheduling tikv tiflash pump tidb tiproxy ticdc :4",
		"events basic --member |":              "pd tso scheduling tikv tiflash pump tidb tiproxy ticdc tikv-0 :4",
		"config get basic |":                   "pd tso scheduling tikv tiflash pump tidb tiproxy ticdc tikv-0 :4",
		"config get basic tikv |":              ":4",
		"config diff basic pd |":               ":4",
		"pvc prune |":                          "basic other :4",
		"pvc prune basic |":                    "tikv-basic-tikv-3 tikv-basic-tikv-4 :4",
		"pvc prune basic tikv-basic-tikv-3 |":  "tikv-basic-tikv-4 :4",
		"scale basic pd=5 |":                   "tso= scheduling= tikv= tiflash= pump= tidb= tiproxy= ticdc= :6",
		"status --output |": "wide json yaml kyaml name go-template go-template-file template templatefile " +
			"jsonpath jsonpath-as-json jsonpath-file custom-columns custom-columns-file :4",
		"sync -o |":                  "json :4",
		"sync --dial |":              "auto direct port-forward :4",
		"daemon |":                   "manifest :4",
		"sync nothing more |":        ":4",
		"sync --server bad://host |": ":4",
	} {
		given, begin, _ := strings.Cut(args, "|")
		words := append([]string{"__complete"}, strings.Fields(given)...)
		if !strings.HasSuffix(given, " ") {
			words, begin = words[:len(words)-1], words[len(words)-1]
		}
		if !strings.Contains(args, "bad://") {
			words = append(words[:2:2], append([]string{"--server", server.URL}, words[2:]...)...)
		}
		r := call(t.Context(), t, append(words, begin)...)
		if got := strings.Join(strings.Fields(r.out), " "); r.code != 0 || got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
		if strings.Contains(r.err, "error") {
			t.Errorf("%s: noise: %q", args, r.err)
		}
	}
	if r := call(t.Context(), t, "completion"); r.code != 0 || !strings.Contains(r.out, "kubectl tidb __complete") {
		t.Errorf("%+v", r)
	}
	for shell, want := range map[string]string{
		"bash":       "complete -o default -F __start_kubectl-tidb kubectl-tidb",
		"zsh":        "#compdef kubectl-tidb",
		"fish":       "complete -c kubectl-tidb",
		"powershell": "Register-ArgumentCompleter -CommandName 'kubectl-tidb'",
	} {
		if r := call(t.Context(), t, "completion", shell); r.code != 0 || !strings.Contains(r.out, want) {
			t.Errorf("%s: exit code %d, %q", shell, r.code, r.out)
		}
	}
}
