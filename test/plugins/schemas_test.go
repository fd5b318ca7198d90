package plugins

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

const plugins = "../../plugins/"

// The modules that have the schemas of other tools. They are downloaded, and not linked.
const (
	tekton = "github.com/tektoncd/pipeline@v1.6.0"
	argo   = "github.com/argoproj/argo-workflows/v3@v3.7.0"
	k9s    = "github.com/derailed/k9s@v0.50.9"
)

// published is a file for another tool, with the schema that this tool has for it.
type published struct {
	file   string
	schema func(t *testing.T) string // its path
	at     string                    // where in the schema, "" for all of it
	wrong  func(map[string]any)      // a mistake that the schema has to find
}

func files() []published {
	in := func(module, path string) func(*testing.T) string {
		return func(t *testing.T) string { return filepath.Join(download(t, module), path) }
	}
	tektons := in(tekton, "pkg/apis/pipeline/v1/swagger.json")
	return []published{
		{"tekton/task.yaml", tektons, "#/definitions/v1.Task", func(d map[string]any) { at(d, "spec")["step"] = []any{} }},
		{"tekton/pipeline.yaml", tektons, "#/definitions/v1.Pipeline", func(d map[string]any) { at(d, "spec")["tasks"] = map[string]any{} }},
		{
			"argo-workflows/workflowtemplate.yaml", in(argo, "api/jsonschema/schema.json"), "#/definitions/io.argoproj.workflow.v1alpha1.WorkflowTemplate",
			func(d map[string]any) { at(d, "spec")["template"] = []any{} },
		},
		// The schema is GitLab's, as the npm package gitlab-ci-local 4.75.1 (MIT) has it.
		{
			"gitlab/kubectl-tidb.gitlab-ci.yml", func(*testing.T) string { return "testdata/gitlab-ci.schema.json" }, "",
			func(d map[string]any) { at(d, "hidden.tidb-plan")["allow_failure"] = "maybe" },
		},
		{"k9s/plugins.yaml", in(k9s, "internal/config/json/schemas/plugins.json"), "", func(d map[string]any) { delete(at(d, "plugins", "tidb-sync"), "shortCut") }},
		{"k9s/views.yaml", in(k9s, "internal/config/json/schemas/views.json"), "", func(d map[string]any) {
			at(d, "views", "pingcap.com/v1alpha1/tidbclusters")["columns"] = "NAME"
		}},
	}
}

// at returns the object at a path of another one.
func at(d map[string]any, path ...string) map[string]any {
	for _, key := range path {
		d = d[key].(map[string]any)
	}
	return d
}

// download returns the folder of a module, from the cache or from the module proxy.
func download(t *testing.T, module string) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", module)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	var got struct{ Dir, Error string }
	if json.Unmarshal(out, &got) != nil || err != nil || got.Dir == "" {
		t.Fatalf("get %s: %v %s %s", module, err, got.Error, errors.String())
	}
	return got.Dir
}

func compile(t *testing.T, p published) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	// GitLab's has expressions that only JavaScript knows.
	c.UseRegexpEngine(func(s string) (jsonschema.Regexp, error) {
		if re, err := regexp.Compile(s); err == nil {
			return re, nil
		}
		return anything(s), nil
	})
	text, err := os.ReadFile(p.schema(t))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	const name = "file:///schema.json"
	if top, ok := doc.(map[string]any); ok {
		delete(top, "$id")
		if all, ok := top["definitions"].(map[string]any); ok && p.at != "" {
			strict(all)
		}
	}
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name + p.at)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// strict has the definitions of Kubernetes' objects refuse fields that they do not know, as an API
// server does. Those that are in another file accept everything.
func strict(definitions map[string]any) {
	// Of a string, a list or an object, Tekton's schema has only the last.
	delete(definitions, "v1.ParamValue")
	text, _ := json.Marshal(definitions)
	for _, m := range regexp.MustCompile(`"#/definitions/([^"]+)"`).FindAllSubmatch(text, -1) {
		if _, ok := definitions[string(m[1])]; !ok {
			definitions[string(m[1])] = map[string]any{}
		}
	}
	for _, d := range definitions {
		if object, ok := d.(map[string]any); ok && object["properties"] != nil && object["additionalProperties"] == nil {
			object["additionalProperties"] = false
		}
	}
}

// anything is an expression that Go's package regexp does not know.
type anything string

func (a anything) String() string        { return string(a) }
func (anything) MatchString(string) bool { return true }

func load(t *testing.T, file string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(plugins + file)
	if err != nil {
		t.Fatal(err)
	}
	inJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(inJSON))
	if err != nil {
		t.Fatal(err)
	}
	// GitLab does not look at jobs whose names begin with a dot before another one extends them.
	all := doc.(map[string]any)
	for name, job := range maps.Clone(all) {
		if strings.HasPrefix(name, ".") {
			all["hidden"+name] = job
		}
	}
	return all
}

// TestSchemas: the files are what the schemas of the tools say, and these schemas find a mistake.
func TestSchemas(t *testing.T) {
	for _, p := range files() {
		t.Run(p.file, func(t *testing.T) {
			s := compile(t, p)
			doc := load(t, p.file)
			if err := s.Validate(doc); err != nil {
				t.Error(err)
			}
			p.wrong(doc)
			if s.Validate(doc) == nil {
				t.Error("the schema does not find a mistake")
			}
		})
	}
}

// TestAction: GitHub's rules for workflows, for the metadata of the action and for its inputs, as
// actionlint knows them; and it finds an input that does not exist.
func TestAction(t *testing.T) {
	text, err := os.ReadFile(plugins + "github-action/workflow.yml")
	if err != nil {
		t.Fatal(err)
	}
	if got := lint(t, text); got != "" {
		t.Error(got)
	}
	// The example takes the action of a release: one of the pull request would be code of its author. actionlint knows the
	// inputs and outputs of an action in the repository only.
	const released = "kubectl-tidb/kubectl-tidb/plugins/github-action@v1.0.0"
	if n := strings.Count(string(text), released); n != 2 {
		t.Fatalf("%d steps use the action of a release", n)
	}
	text = []byte(strings.ReplaceAll(string(text), released, "./plugins/github-action"))
	if got := lint(t, text); got != "" {
		t.Error(got)
	}
	for _, change := range [][2]string{
		{"          comment: \"true\"", "          coment: \"true\""},
		{"steps.plan.outputs.changes", "steps.plan.outputs.chagnes"},
		{"runs-on: ubuntu-24.04", "runs-on: [ubuntu-24.04"},
	} {
		if got := lint(t, []byte(strings.Replace(string(text), change[0], change[1], 1))); got == "" {
			t.Errorf("%q is not found", change[1])
		}
	}
}

// TestPullRequestsHaveNoRights: the job of a pull request, which runs code of its author, has no secret of the job that
// changes the cluster, and files with secrets are readable by their user only.
func TestPullRequestsHaveNoRights(t *testing.T) {
	text, err := os.ReadFile(plugins + "github-action/workflow.yml")
	if err != nil {
		t.Fatal(err)
	}
	plan, apply, ok := strings.Cut(string(text[strings.Index(string(text), "jobs:"):]), "\n  apply:")
	if !ok || strings.Contains(plan, "KUBECONFIG_PROD") || !strings.Contains(plan, "KUBECONFIG_PLAN") || strings.Contains(plan, "environment:") {
		t.Errorf("the job of pull requests: %s", plan)
	}
	if !strings.Contains(apply, "environment: prod") || !strings.Contains(apply, "KUBECONFIG_PROD") {
		t.Errorf("the job that changes the cluster: %s", apply)
	}
	if strings.Count(string(text), "umask 077") != strings.Count(string(text), `> "$RUNNER_TEMP/kubeconfig"`) {
		t.Error("a kubeconfig is written that others can read")
	}
	jenkins, err := os.ReadFile(plugins + "jenkins/Jenkinsfile")
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(jenkins), "stage('Apply')")
	if strings.Contains(before, "credentials('kubeconfig-prod')") {
		t.Error("the Jenkinsfile gives the rights of main to branches")
	}
}

// lint lints a workflow of a repository that has the plugins.
func lint(t *testing.T, workflow []byte) string {
	t.Helper()
	root := t.TempDir()
	path := filepath.Join(root, ".github", "workflows", "tidb.yml")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "plugins"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(root, "plugins"), os.DirFS(plugins)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, workflow, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	linter, err := actionlint.NewLinter(&out, &actionlint.LinterOptions{WorkingDir: root})
	if err != nil {
		t.Fatal(err)
	}
	project, err := actionlint.NewProject(root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := linter.Lint(path, workflow, project); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestShellcheck: shellcheck finds nothing in the scripts, where it is installed.
func TestShellcheck(t *testing.T) {
	scripts, err := filepath.Glob(plugins + "*/*.sh")
	if err != nil || len(scripts) < 4 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	path, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed: apt-get install shellcheck")
	}
	if out, err := exec.Command(path, append(scripts, plugins+"completion/kubectl_complete-tidb")...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
