package apply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/resource"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// Files are the flags -f, -k and -R.
type Files struct{ resource.FilenameOptions }

// Bind adds the flags to a command.
func (o *Files) Bind(cmd *cobra.Command) {
	cmdutil.AddFilenameOptionFlags(cmd, &o.FilenameOptions, "that have TidbClusters; - for standard input.")
	_ = cmd.MarkFlagDirname("kustomize")
}

// String names the sources. It is written into reports that others read, so a URL has no password
// and no query, which may be a token.
func (o Files) String() string {
	if o.Kustomize != "" {
		return "-k " + public(o.Kustomize)
	}
	var all []string
	for _, name := range o.Filenames {
		all = append(all, public(name))
	}
	return strings.Join(all, ", ")
}

// flags returns the flags as words of a command.
func (o Files) flags() (words []string) {
	if o.Kustomize != "" {
		return []string{"-k", public(o.Kustomize)}
	}
	for _, name := range o.Filenames {
		words = append(words, "-f", public(name))
	}
	if o.Recursive {
		words = append(words, "-R")
	}
	return words
}

// repeatable reports whether the flags as they are shown read the same again. Standard input is read once, and a query of a
// URL is not shown.
func (o Files) repeatable() bool {
	return !slices.ContainsFunc(o.Filenames, func(name string) bool { return name == "-" || public(name) != name }) && public(o.Kustomize) == o.Kustomize
}

func public(name string) string {
	u, err := url.Parse(name)
	if err != nil || u.Host == "" {
		return name
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// sources reads what the flags name: files, folders, patterns, URLs, standard input, or what
// kustomize makes of a folder.
func (o Files) sources(ctx context.Context, f *factory.Factory) ([]intent.Source, error) {
	switch {
	case o.Kustomize != "" && (len(o.Filenames) > 0 || o.Recursive):
		return nil, exit.Usagef("-k does not go with -f or -R: give one of them")
	case o.Kustomize != "":
		return built(o.Kustomize)
	case len(o.Filenames) == 0:
		return nil, exit.Usagef("give a file, a folder or a URL with -f, or a folder for kustomize with -k")
	}
	var all []intent.Source
	stdin := false
	for _, name := range o.Filenames {
		var found []intent.Source
		var err error
		switch {
		case name == "-" && stdin:
			return nil, exit.Usagef("-f - is given twice, and standard input can be read only once")
		case name == "-":
			stdin = true
			found, err = one(name)(f.Input(ctx, io.ReadAll))
		case strings.HasPrefix(name, "http://"), strings.HasPrefix(name, "https://"):
			found, err = one(name)(fetch(ctx, name))
		default:
			found, err = o.local(name)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func one(name string) func([]byte, error) ([]intent.Source, error) {
	return func(text []byte, err error) ([]intent.Source, error) {
		return []intent.Source{{Name: name, Text: text}}, err
	}
}

// local reads a file, the manifests in a folder, or the files that match a pattern. The extensions of the files in a
// folder say which are manifests.
func (o Files) local(name string) ([]intent.Source, error) {
	roots := []string{name}
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		if roots, _ = filepath.Glob(name); len(roots) == 0 {
			return nil, exit.Usagef("read manifests: %s: no such file or folder", name)
		}
	}
	var all []intent.Source
	for _, root := range roots {
		// The order and the choice of files are kubectl's. The files are read here, because kubectl's
		// reader keeps no lines.
		found, err := resource.ExpandPathsToFileVisitors(nil, root, o.Recursive, resource.FileExtensions, nil)
		if err != nil {
			return nil, exit.Usagef("read manifests: %w", err)
		}
		for _, v := range found {
			path := v.(*resource.FileVisitor).Path
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, exit.Usagef("read manifests: %w", err)
			}
			all = append(all, intent.Source{Name: path, Text: text})
		}
	}
	return all, nil
}

// built returns the objects that kustomize makes of a folder.
func built(folder string) ([]intent.Source, error) {
	infos, err := resource.NewLocalBuilder().Unstructured().
		FilenameParam(false, &resource.FilenameOptions{Kustomize: folder}).Flatten().Do().Infos()
	if err != nil {
		return nil, exit.Usagef("kustomize %s: %w", folder, err)
	}
	var all []intent.Source
	for _, i := range infos {
		text, err := yaml.Marshal(i.Object)
		if err != nil {
			return nil, err
		}
		all = append(all, intent.Source{Name: folder, Text: text, Made: true})
	}
	return all, nil
}

// retries are kubectl's for a server that fails.
var retries = wait.Backoff{Duration: 500 * time.Millisecond, Steps: 3}

// fetch reads a URL. kubectl's reader does not end with a context, and so could not be interrupted.
func fetch(ctx context.Context, url string) (text []byte, last error) {
	_ = wait.ExponentialBackoffWithContext(ctx, retries, func(ctx context.Context) (done bool, _ error) {
		text, done, last = get(ctx, url)
		return done, nil
	})
	if last != nil {
		return nil, fmt.Errorf("read %s: %w", url, last)
	}
	return text, ctx.Err()
}

// patience is how long an answer of a server may take. A server that never ends its answer would keep the command
// for ever.
const patience = 30 * time.Second

// get asks a server once. It reports whether its answer is final.
func get(ctx context.Context, url string) (text []byte, final bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, true, exit.With(exit.Usage, err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, false, errors.Unwrap(err) // without the URL, which is named already
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode >= http.StatusInternalServerError:
		return nil, false, fmt.Errorf("the server says %s", answer.Status)
	case answer.StatusCode != http.StatusOK:
		return nil, true, exit.Usagef("the server says %s", answer.Status)
	}
	text, err = io.ReadAll(answer.Body)
	return text, err == nil, err
}
