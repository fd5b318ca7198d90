package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// write writes what the request wants, and returns the TidbCluster as the API server has it after the write. The
// TidbCluster is nil if nothing was written, or if the API server could not be read.
func (s *Session) write(ctx context.Context, r Request, o flags.Options) (*v1alpha1.TidbCluster, error) {
	if r.Write == nil || o.DryRun == flags.ClientDryRun {
		return nil, nil
	}
	w := intent.Write{DryRun: o.DryRun == flags.ServerDryRun, Manager: o.FieldManager}
	if !r.Unrecorded {
		w.Action, w.At = r.Action, s.Now()
	}
	if err := r.Write(ctx, w); err != nil || o.DryRun == flags.ServerDryRun {
		return nil, err
	}
	asked, err := s.Load(ctx)
	if err != nil {
		return nil, nil // the run reports that error itself
	}
	return asked, nil
}

// fulfilled fails when a cluster has converged to something else than the request has asked for.
func (s *Session) fulfilled(ctx context.Context, r Request, asked *v1alpha1.TidbCluster) error {
	if err := s.replaced(ctx, r.Now, asked); err != nil || r.Fulfilled == nil {
		return err
	}
	return r.Fulfilled(ctx)
}

// replaced fails when a cluster has converged to something else than this run has asked for. Then a field that the
// run has changed was changed again later. Other fields do not matter.
func (s *Session) replaced(ctx context.Context, before, asked *v1alpha1.TidbCluster) error {
	if asked == nil {
		return nil
	}
	now, err := s.Load(ctx)
	switch {
	case intent.Gone(err) || err == nil && now.UID != asked.UID:
		return exit.With(exit.Aborted, errors.New("the TidbCluster was deleted during the run"))
	case err != nil:
		return nil // the cluster that has converged was just read
	}
	was, want, is := fields(before), fields(asked), fields(now)
	var changed []string
	for _, path := range differences(want, is) {
		if touched(path, differences(was, want)) {
			changed = append(changed, fmt.Sprintf("%s is %s now, and %s was asked for", path, value(is, path), value(want, path)))
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return exit.With(exit.Aborted, fmt.Errorf("what this command asked for was changed by another user or tool: %s; run the command again to ask for it again",
		strings.Join(changed, "; ")))
}

// Differences returns how a spec becomes another one, field by field, as text for a person.
func Differences(from, to *v1alpha1.TidbCluster) string {
	was, is := fields(from), fields(to)
	var all []string
	for _, path := range differences(was, is) {
		all = append(all, fmt.Sprintf("%s from %s to %s", path, value(was, path), value(is, path)))
	}
	return strings.Join(all, "; ")
}

// touched reports whether a path is equal to, contains, or is part of one of some paths.
func touched(path string, paths []string) bool {
	return slices.ContainsFunc(paths, func(o string) bool {
		return path == o || strings.HasPrefix(path, o+".") || strings.HasPrefix(o, path+".")
	})
}

// fields returns the values of a spec by their paths. A list is one value.
func fields(tc *v1alpha1.TidbCluster) map[string]any {
	all := map[string]any{}
	if tc == nil {
		return all
	}
	body, err := json.Marshal(tc.Spec)
	var spec map[string]any
	if err == nil {
		err = json.Unmarshal(body, &spec)
	}
	if err != nil {
		return all // cannot happen, since it was decoded from JSON
	}
	flatten("spec", spec, all)
	return all
}

func flatten(path string, v any, into map[string]any) {
	m, ok := v.(map[string]any)
	if !ok {
		into[path] = v
		return
	}
	for key, v := range m {
		flatten(path+"."+key, v, into)
	}
}

// differences returns the paths whose values differ.
func differences(a, b map[string]any) []string {
	var paths []string
	for path := range a {
		if other, ok := b[path]; !ok || !reflect.DeepEqual(a[path], other) {
			paths = append(paths, path)
		}
	}
	for path := range b {
		if _, ok := a[path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// longest is how much of a value is shown: a configuration may have a hundred lines.
const longest = 60

// value returns a value as text for a person.
func value(all map[string]any, path string) string {
	v, ok := all[path]
	if !ok {
		return "not set"
	}
	text, err := json.Marshal(v)
	if err != nil || len(text) > longest {
		return "something else"
	}
	return string(text)
}
