package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// strictAPI is an API server without any object that takes every TidbCluster. It answers a dry run, and counts what is
// written otherwise.
type strictAPI struct {
	*httptest.Server
	// refuse returns the answer to a dry run of an object, by its resource and its text; nil takes it.
	refuse func(resource, body string) any

	mu     sync.Mutex
	writes []string
	tried  []string // resources of dry runs
}

func serveStrictly(t *testing.T) *strictAPI {
	s := &strictAPI{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *strictAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	parts := strings.Split(r.URL.Path, "/")
	resource := parts[len(parts)-1]
	body, _ := io.ReadAll(r.Body)
	switch {
	case r.Method == http.MethodGet && discovery(nil)[r.URL.Path] != nil:
		_ = json.NewEncoder(w).Encode(discovery(nil)[r.URL.Path])
	case r.Method == http.MethodGet && (resource == "basic" || parts[len(parts)-2] != "default"):
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	case r.Method == http.MethodGet:
		_, _ = io.WriteString(w, `{"items":[]}`)
	case r.URL.Query().Get("dryRun") != "All":
		s.mu.Lock()
		s.writes = append(s.writes, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		w.WriteHeader(http.StatusInternalServerError)
	default:
		s.mu.Lock()
		s.tried = append(s.tried, resource)
		s.mu.Unlock()
		if s.refuse != nil {
			if answer := s.refuse(resource, string(body)); answer != nil {
				status, _ := json.Marshal(answer)
				var code struct{ Code int }
				_ = json.Unmarshal(status, &code)
				w.WriteHeader(code.Code)
				_, _ = w.Write(status)
				return
			}
		}
		_, _ = w.Write(body)
	}
}

// applied applies a manifest, and fails the test if it has written anything.
func (s *strictAPI) applied(t *testing.T, manifest string, flags ...string) result {
	t.Helper()
	file := filepath.Join(t.TempDir(), "basic.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	r := call(t.Context(), t, append([]string{"--server", s.URL, "-n", "default", "apply", "-f", file}, flags...)...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.writes) > 0 {
		t.Errorf("written: %q", s.writes)
	}
	return r
}

// right is a manifest in which each mistake replaces one line.
const right = `apiVersion: pingcap.com/v1alpha1
kind: TidbCluster
metadata:
  name: basic
spec:
  version: v8.1.0
  timezone: UTC
  pvReclaimPolicy: Retain
  pd:
    baseImage: pingcap/pd
    replicas: 3
    requests:
      cpu: 500m
      storage: 10Gi
    config: |
      [log]
      level = "info"
  tikv:
    replicas: 3
    requests:
      memory: 2Gi
      storage: 100Gi
  tidb:
    replicas: 2
    service:
      type: ClusterIP
`

// TestMistakes: what a person writes wrong is said with its field, its line where it is a matter of the file, the
// value, and what to write instead. Nothing is written.
func TestMistakes(t *testing.T) {
	const usage, refused = 2, 3
	for name, tt := range map[string]struct {
		old, new string
		code     int
		says     []string
	}{
		"nothing wrong":                {"", "", 0, nil},
		"100GB":                        {"storage: 100Gi", "storage: 100GB", usage, []string{`line 22: spec.tikv.requests[storage]: is the text "100GB", which is no quantity: write 100Gi or 100G`}},
		"100gi":                        {"storage: 100Gi", "storage: 100gi", usage, []string{"line 22", "write 100Gi"}},
		"500milli":                     {"cpu: 500m", "cpu: 500milli", usage, []string{"line 13: spec.pd.requests[cpu]", "write 500m"}},
		"smart quotes":                 {"memory: 2Gi", "memory: “2Gi”", usage, []string{"line 21: spec.tikv.requests[memory]", "write 2Gi"}},
		"a quantity of words":          {"memory: 2Gi", "memory: much", usage, []string{"line 21", `"much"`, "such as 500m or 2"}},
		"a template":                   {"    replicas: 3\n    requests:\n      cpu", "    replicas: {{ .Values.pd.replicas }}\n    requests:\n      cpu", usage, []string{"line 11: spec.pd.replicas: {{ .Values.pd.replicas }} is part of a template", "render it first"}},
		"a template in quotes":         {"version: v8.1.0", `version: "{{ .Values.version }}"`, usage, []string{"line 6: spec.version", "render it first"}},
		"a template's condition":       {"  timezone: UTC", "  {{- if .tz }}\n  timezone: UTC\n  {{- end }}", usage, []string{"line 7: {{- if .tz }} is part of a template"}},
		"a template of Jinja":          {"  timezone: UTC", "  {% if tz %}\n  timezone: UTC", usage, []string{"line 7", "{% if tz %}", "render it first"}},
		"a variable of a shell":        {"version: v8.1.0", "version: ${VERSION}", usage, []string{"line 6: spec.version: ${VERSION} is part of a template"}},
		"marks of a merge":             {"  timezone: UTC", "<<<<<<< HEAD\n  timezone: UTC\n=======\n  timezone: CET\n>>>>>>> other", usage, []string{"line 7", "merge with conflicts"}},
		"a no-break space":             {"  timezone: UTC", "\u00a0 timezone: UTC", usage, []string{"line 7", "no-break space"}},
		"another encoding":             {"  timezone: UTC", "  timezone: \xdcTC", usage, []string{"line 7", "UTF-8"}},
		"tolerations as an object":     {"  timezone: UTC", "  tolerations: {key: a}", usage, []string{"line 7: spec.tolerations: is an object, must be a list"}},
		"a number in env":              {"    baseImage: pingcap/pd", "    env:\n    - name: A\n      value: 1", usage, []string{"line 12: spec.pd.env[0].value: is a number, must be text: put the value in quotes"}},
		"true in a nodeSelector":       {"  timezone: UTC", "  nodeSelector:\n    disk.example.com/ssd: true", usage, []string{"line 8: spec.nodeSelector[disk.example.com/ssd]: is true or false, must be text"}},
		"a number in an annotation":    {"  name: basic", "  name: basic\n  annotations:\n    a.b/c: 1", usage, []string{"line 6: metadata.annotations[a.b/c]: is a number, must be text"}},
		"replicas as text":             {"    replicas: 2", `    replicas: "2"`, usage, []string{"spec.tidb.replicas", "write 2 without quotes"}},
		"half a replica":               {"    replicas: 2", `    replicas: 2.5`, usage, []string{"spec.tidb.replicas", "whole number"}},
		"true as text":                 {"  timezone: UTC", `  paused: "true"`, usage, []string{"spec.paused", "write true without quotes"}},
		"a list of the configuration":  {"    config: |\n      [log]\n      level = \"info\"", "    config:\n      log: [1]", usage, []string{"line 16: spec.pd.config.log: is a list, must be an object with fields"}},
		"a number as configuration":    {"    config: |\n      [log]\n      level = \"info\"", "    config: 5", usage, []string{"line 15: spec.pd.config: must be text in TOML"}},
		"replica":                      {"    replicas: 2", "    replica: 2", usage, []string{"line 24: spec.tidb.replica: unknown field; did you mean replicas?"}},
		"tikvs":                        {"  tikv:", "  tikvs:", usage, []string{"line 18: spec.tikvs: unknown field; did you mean tikv?"}},
		"tiproxies":                    {"  timezone: UTC", "  tiproxies: {}", usage, []string{"did you mean tiproxy?"}},
		"nodePort":                     {"      type: ClusterIP", "      nodePort: 30000", usage, []string{"line 26: spec.tidb.service.nodePort", "did you mean mysqlNodePort?"}},
		"a component too far in":       {"  tikv:\n    replicas: 3", "    tikv:\n      replicas: 3", usage, []string{"spec.pd.tikv: unknown field; the field tikv belongs into spec, so look at the indentation"}},
		"storage beside requests":      {"      storage: 10Gi", "    storage: 10Gi", usage, []string{"line 14: spec.pd.storage: unknown field; the field storage belongs into requests"}},
		"a kind misspelt":              {"kind: TidbCluster", "kind: TiDBCluster", usage, []string{"line 2: kind", "write kind: TidbCluster"}},
		"an API version misspelt":      {"pingcap.com/v1alpha1", "pingcap.com/v1", usage, []string{"write apiVersion: pingcap.com/v1alpha1"}},
		"a cluster of v2":              {"apiVersion: pingcap.com/v1alpha1\nkind: TidbCluster", "apiVersion: core.pingcap.com/v1alpha1\nkind: Cluster", usage, []string{"there is no TidbCluster", "v2 (core.pingcap.com) and of DM are not driven"}},
		"a name in capitals":           {"  name: basic", "  name: Basic", usage, []string{`line 4: metadata.name: "Basic" is no name of a cluster`, "lower case"}},
		"a name with a dot":            {"  name: basic", "  name: a.b", usage, []string{"line 4: metadata.name"}},
		"no name":                      {"  name: basic", "  labels: {}", usage, []string{"metadata.name: missing: give the cluster a name"}},
		"a field twice":                {"    replicas: 2", "    replicas: 2\n    replicas: 3", usage, []string{"line 25: spec.tidb.replicas: is already in line 24"}},
		"a tab":                        {"    replicas: 2", "\treplicas: 2", usage, []string{"line 24"}},
		"two clusters":                 {"apiVersion", "apiVersion: pingcap.com/v1alpha1\nkind: TidbCluster\nmetadata: {name: other}\n---\napiVersion", refused, []string{"cluster default/other: not valid; nothing was changed: spec.pd: Required value"}},
		"no version":                   {"  version: v8.1.0\n", "", refused, []string{"spec.version: Required value: PD, TiKV and TiDB would run"}},
		"a space in the version":       {"v8.1.0", "v8.1 .0", refused, []string{"spec.version", "must be the tag of an image"}},
		"no storage":                   {"      storage: 10Gi\n", "", refused, []string{"spec.pd.requests.storage", "10Gi"}},
		"a hundred bytes":              {"storage: 100Gi", "storage: 100", refused, []string{"spec.tikv.requests.storage", "100 bytes", "100Gi"}},
		"a policy of volumes":          {"Policy: Retain", "Policy: Keep", refused, []string{`spec.pvReclaimPolicy: Unsupported value: "Keep"`, `"Retain"`}},
		"a type of Service":            {"type: ClusterIP", "type: Loadbalancer", refused, []string{`spec.tidb.service.type: Unsupported value: "Loadbalancer"`, `"LoadBalancer"`}},
		"an effect":                    {"  timezone: UTC", "  tolerations: [{key: a, effect: NoSchedul}]", refused, []string{"spec.tolerations[0].effect", `"NoSchedule"`}},
		"an operator":                  {"  timezone: UTC", "  tolerations: [{key: a, operator: Equals}]", refused, []string{"spec.tolerations[0].operator", `"Equal"`}},
		"a policy of pulls":            {"  timezone: UTC", "  imagePullPolicy: always", refused, []string{"spec.imagePullPolicy", `"Always"`}},
		"a strategy":                   {"  timezone: UTC", "  configUpdateStrategy: Rolling", refused, []string{"configUpdateStrategy", `"RollingUpdate"`}},
		"an image with a tag":          {"pingcap/pd", "pingcap/pd:v8.1.0", refused, []string{"spec.pd.baseImage", "must not have a tag"}},
		"negative replicas":            {"    replicas: 2", "    replicas: -2", refused, []string{"spec.tidb.replicas", "negative"}},
		"a part of a cluster":          {"  pd:\n    baseImage: pingcap/pd\n    replicas: 3\n    requests:\n      cpu: 500m\n      storage: 10Gi\n    config: |\n      [log]\n      level = \"info\"\n", "  cluster: {name: other}\n", refused, []string{`spec.cluster: Not found: "default/other"`, "make that TidbCluster first"}},
		"a size of a volume":           {"    replicas: 2", "    storageVolumes: [{name: log, storageSize: 10GB}]\n    replicas: 2", refused, []string{"spec.tidb.storageVolumes[0].storageSize", `"10GB"`}},
		"a container without an image": {"  tikv:", "  tikv:\n    additionalContainers: [{name: mine}]", refused, []string{"spec.tikv.additionalContainers[mine].image"}},
		"a patch of a container":       {"  tikv:", "  tikv:\n    additionalContainers: [{name: tikv, tty: true}]", 0, nil},
		"no v":                         {"version: v8.1.0", "version: 8.1.0", 0, []string{"spec.version is 8.1.0, and the images of PingCAP have a v in front: v8.1.0"}},
		"latest":                       {"version: v8.1.0", "version: latest", 0, []string{"spec.version is latest", "another release with each pull"}},
		"the scheduler of an operator": {"  timezone: UTC", "  schedulerName: tidb-scheduler", 0, []string{"spec.schedulerName is tidb-scheduler", "stay Pending"}},
		"no TiKV":                      {"  tikv:\n    replicas: 3\n    requests:\n      memory: 2Gi\n      storage: 100Gi\n", "", refused, []string{"spec.tikv: Required value: TiDB"}},
	} {
		t.Run(name, func(t *testing.T) {
			manifest := strings.Replace(right, tt.old, tt.new, 1)
			if name != "nothing wrong" && manifest == right {
				t.Fatal("the manifest has no mistake")
			}
			r := serveStrictly(t).applied(t, manifest, "--dry-run=server")
			said := r.err
			if tt.code == 0 {
				said += r.out
			}
			if r.code != tt.code {
				t.Errorf("exit code %d, want %d: %s", r.code, tt.code, said)
			}
			for _, says := range tt.says {
				if !strings.Contains(strings.Join(strings.Fields(said), " "), says) {
					t.Errorf("%q is not in:\n%s", says, said)
				}
			}
			for _, goes := range []string{"v1alpha1.", "v1.Tol", "map[", "interface {}", "[]v1", "Go struct", "all other components need PD"} {
				if strings.Contains(said, goes) {
					t.Errorf("%q is in:\n%s", goes, said)
				}
			}
		})
	}
}

// TestChildrenAreTried: what the API server refuses of the objects of a cluster is said before anything is written,
// with the field of the TidbCluster, by a dry run and by a run. What it would only not take now is a notice.
func TestChildrenAreTried(t *testing.T) {
	status := func(code int, reason, message string, causes ...map[string]any) any {
		return map[string]any{
			"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message,
			"details": map[string]any{"causes": causes},
		}
	}
	label := status(422, "Invalid", "StatefulSet is invalid", map[string]any{
		"reason": "FieldValueInvalid", "field": "spec.template.labels", "message": `Invalid value: "a b": must be alphanumeric`,
	})
	quota := status(403, "Forbidden", `pods "basic-tikv-x" is forbidden: exceeded quota: q, requested: cpu=1`)
	class := status(403, "Forbidden", `pods "basic-tikv-x" is forbidden: no PriorityClass with name high was found`)
	webhook := status(400, "BadRequest", `admission webhook "a.b" does not support dry run`)
	manifest := strings.Replace(right, "  tikv:", "  tikv:\n    labels: {team: a b}\n    priorityClassName: high", 1)
	for _, tt := range []struct {
		name, resource string
		answer         any
		flags          []string
		code           int
		says           string
	}{
		{"a label, by a dry run", "statefulsets", label, []string{"--dry-run=server"}, 3, `spec.tikv.labels: Invalid value: "a b"`},
		{"a label, by a run", "statefulsets", label, []string{"--yes"}, 3, `spec.tikv.labels: Invalid value: "a b"`},
		{"a label, by a dry run that only reads", "statefulsets", label, []string{"--dry-run=client"}, 2, "does not go with apply"},
		{"a class", "pods", class, []string{"--yes"}, 3, "spec.tikv.priorityClassName: the API server takes no such pod: no PriorityClass"},
		{"a quota", "pods", quota, []string{"--dry-run=server"}, 0, "exceeded quota"},
		{"a webhook", "statefulsets", webhook, []string{"--dry-run=server"}, 0, "does not support dry run"},
	} {
		s := serveStrictly(t)
		s.refuse = func(resource, body string) any {
			if resource == tt.resource && strings.Contains(body, "basic-tikv") && strings.Contains(body, "tikv_start_script") {
				return tt.answer
			}
			return nil
		}
		r := s.applied(t, manifest, tt.flags...)
		if said := r.err + r.out; r.code != tt.code || !strings.Contains(strings.Join(strings.Fields(said), " "), tt.says) || strings.Contains(said, "basic-tikv-x") {
			t.Errorf("%s: %d: %s\ntried %q", tt.name, r.code, said, s.tried)
		}
	}
}
