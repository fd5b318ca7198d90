package rbac

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// calls are the requests that a program can send to the API server, as "group/resource verb", and
// where it sends them. They are found by types, so also those that no test sends.
type calls map[string][]string

// untyped are the resources that packages ask for through a client that has no
// types. A package that begins to do so must be added here.
var untyped = map[string][]string{
	"pkg/edge/intent": {"pingcap.com/tidbclusters"},
	"pkg/edge/backup": {"pingcap.com/backups"},
	"pkg/cli/backup":  {"pingcap.com/backups"}, // their names, in a completion
	"pkg/cli":         {"/namespaces"},
	"pkg/edge/schedule": {
		"batch/cronjobs", "/serviceaccounts", "rbac.authorization.k8s.io/roles", "rbac.authorization.k8s.io/rolebindings",
	},
	"pkg/edge/issue":   {"cert-manager.io/certificates"},
	"pkg/cli/install":  {"apiextensions.k8s.io/customresourcedefinitions"},
	"pkg/cli/target":   {"pingcap.com/tidbclusters", "/nodes"},
	"pkg/edge/observe": {"/pods", "/persistentvolumeclaims", "apps/statefulsets", "apps.pingcap.com/statefulsets", "pingcap.com/tidbclusters"}, // watched
}

const (
	module  = "github.com/kubectl-tidb/kubectl-tidb/"
	typed   = "k8s.io/client-go/kubernetes/typed/"
	dynamic = "k8s.io/client-go/dynamic"
	// statefulSets stands for both kinds of StatefulSets, which a client of package sets reads and writes.
	statefulSets = "apps/statefulsets"
	// completion lists resources by the names that it is given.
	completion = "k8s.io/kubectl/pkg/util/completion"
)

// verbs are the verbs that methods of clients need.
var verbs = map[string][]string{
	"Get": {"get"}, "List": {"list"}, "Watch": {"watch"}, "Create": {"create"}, "Update": {"update"}, "UpdateStatus": {"update"},
	"Patch": {"patch"}, "Apply": {"create", "patch"}, "Delete": {"delete"}, "DeleteCollection": {"deletecollection"},
}

type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// packages returns the packages of the plugin, and the paths of the compiled packages that they
// import.
func packages(t *testing.T) (own []listed, compiled map[string]string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./cmd/kubectl-tidb", "./pkg/loop/daemon", "./pkg/edge/telemetry/announce")
	cmd.Dir = "../../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	compiled = map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return own, compiled
		} else if err != nil {
			t.Fatal(err)
		}
		compiled[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, module) {
			own = append(own, p)
		}
	}
}

// callsOfPlugin returns the calls in the plugin's own source.
func callsOfPlugin(t *testing.T) calls {
	t.Helper()
	own, compiled := packages(t)
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(compiled[path])
	})
	found := calls{}
	for _, p := range own {
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		info := &types.Info{
			Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{},
			Uses: map[*ast.Ident]types.Object{}, Instances: map[*ast.Ident]types.Instance{},
		}
		if _, err := (&types.Config{Importer: imports}).Check(p.ImportPath, fset, files, info); err != nil {
			t.Fatal(err)
		}
		r := reader{calls: found, info: info, folder: strings.TrimPrefix(p.ImportPath, module), fset: fset}
		for _, f := range files {
			ast.Inspect(f, r.node)
		}
	}
	return found
}

type reader struct {
	calls
	info   *types.Info
	folder string
	fset   *token.FileSet
}

func (r reader) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		r.selected(n)
	case *ast.CallExpr:
		r.passed(n)
	}
	return true
}

// selected adds a method of a client that is called, or passed as a value.
func (r reader) selected(n *ast.SelectorExpr) {
	if s := r.info.Selections[n]; s != nil {
		r.asks(s.Recv(), n.Sel.Name, n)
		return
	}
	f, ok := r.info.Uses[n.Sel].(*types.Func)
	if !ok || f.Pkg() == nil {
		return
	}
	switch path := f.Pkg().Path(); {
	case path == dynamic+"/dynamicinformer" && strings.HasPrefix(f.Name(), "New"),
		path == "k8s.io/client-go/metadata/metadatainformer" && strings.HasPrefix(f.Name(), "New"):
		for _, resource := range r.of(n) {
			r.add(resource, "list", n)
			r.add(resource, "watch", n)
		}
	case path == completion && strings.HasPrefix(f.Name(), "CompGet"):
		for _, resource := range r.of(n) {
			r.add(resource, "list", n)
		}
	case path == "k8s.io/client-go/transport/websocket" && f.Name() == "RoundTripperFor":
		r.add("/pods/portforward", "get", n)
	case path == "k8s.io/client-go/transport/spdy", path == "k8s.io/streaming/pkg/httpstream/spdy":
		r.add("/pods/portforward", "create", n)
	}
}

// passed adds a client that is passed to a function as an interface: the function may call all
// methods of that interface.
func (r reader) passed(n *ast.CallExpr) {
	sign, ok := r.info.TypeOf(n.Fun).(*types.Signature)
	if !ok {
		return
	}
	for i, arg := range n.Args {
		if i >= sign.Params().Len() || resourceOf(r.info.TypeOf(arg)) == "" || resourceOf(sign.Params().At(i).Type()) != "" {
			continue
		}
		takes, ok := sign.Params().At(i).Type().Underlying().(*types.Interface)
		if !ok {
			continue
		}
		for m := range takes.Methods() {
			r.asks(r.info.TypeOf(arg), m.Name(), arg)
		}
	}
}

func (r reader) asks(client types.Type, method string, at ast.Node) {
	if method == "GetLogs" && resourceOf(client) != "" {
		r.add(resourceOf(client)+"/log", "get", at)
	}
	for _, verb := range verbs[method] {
		r.asksTo(verb, client, at)
	}
}

func (r reader) asksTo(verb string, client types.Type, at ast.Node) {
	if resource := resourceOf(client); resource != "" {
		r.add(resource, verb, at)
		if resource == statefulSets {
			r.add("apps.pingcap.com/statefulsets", verb, at)
		}
		return
	}
	named, ok := client.(*types.Named)
	if ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == dynamic && named.Obj().Name() != "Interface" {
		for _, resource := range r.of(at) {
			r.add(resource, verb, at)
		}
	}
}

// of returns the resources that the package requests without types.
func (r reader) of(at ast.Node) []string {
	resources, ok := untyped[r.folder]
	if !ok {
		return []string{fmt.Sprintf("unknown resource at %s", r.fset.Position(at.Pos()))}
	}
	return resources
}

func (r reader) add(resource, verb string, at ast.Node) {
	key := resource + " " + verb
	r.calls[key] = append(r.calls[key], r.fset.Position(at.Pos()).String())
}

// resourceOf returns the resource of a typed client, from its package and its name, "" for another
// type.
func resourceOf(t types.Type) string {
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return ""
	}
	if named.Obj().Pkg().Path() == module+"pkg/edge/sets" && named.Obj().Name() == "Client" {
		return statefulSets
	}
	version, ok := strings.CutPrefix(named.Obj().Pkg().Path(), typed)
	kind, is := strings.CutSuffix(named.Obj().Name(), "Interface")
	if !ok || !is || kind == strings.ToUpper(kind) || strings.HasSuffix(kind, "V1") {
		return ""
	}
	group := strings.Split(version, "/")[0]
	switch group {
	case "core":
		group = ""
	case "coordination", "storage":
		group += ".k8s.io"
	case "rbac":
		group += ".authorization.k8s.io"
	}
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
	return group + "/" + plural.Resource
}
