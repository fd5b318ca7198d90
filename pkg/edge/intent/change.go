package intent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// attempts is high, because there is no status subresource. Each write of the status makes a new version of the
// whole TidbCluster. So conflicts with a driver at work are common and mean nothing to the user.
const attempts = 8

// wholeSpec stands for all fields of the spec, in what a change is about.
const wholeSpec = "spec"

// Change is a change of a TidbCluster: the object after it, and how it is written. Both are made
// from one description, so that what is checked is what is written.
type Change struct {
	// Now is the TidbCluster as the user saw it, nil when there is none; Want is the TidbCluster
	// after the change.
	Now, Want *v1alpha1.TidbCluster
	// Write writes what is wanted; nil when it is written already. In a dry run the API
	// server only says whether it would take it.
	Write func(context.Context, Write) error
}

// lacks returns the error about a component that a TidbCluster does not have. For PD of a part without PD it has the same
// command for the part with PD.
func lacks(tc *v1alpha1.TidbCluster, k topology.Kind, same func(topology.Cluster) remedy.Command) error {
	return topology.New(tc).WithPDPart(k, &NoComponentError{Namespace: tc.Namespace, Name: tc.Name, Component: k}, same)
}

// Scale sets the replicas of components, and the slots of those that slots names, all in one write. It changes nothing
// else. It fails with a *NoComponentError for one that the cluster does not have.
func (c *Client) Scale(tc *v1alpha1.TidbCluster, replicas map[topology.Kind]int32, slots map[topology.Kind][]int) (Change, error) {
	var fields []string
	for _, k := range slices.Sorted(maps.Keys(replicas)) {
		if topology.Replicas(tc, k) == nil {
			return Change{}, lacks(tc, k, func(c topology.Cluster) remedy.Command {
				return c.Plugin("scale", fmt.Sprintf("%s=%d", k, replicas[k]))
			})
		}
		fields = append(fields, "spec."+string(k)+".replicas")
		if topology.TakesSlots(k) { // the replicas are without them, so another writer must not have changed them
			fields = append(fields, aboutSlots(k))
		}
	}
	return c.edit("scale", tc, fields, func(want *v1alpha1.TidbCluster) {
		for k, n := range replicas {
			*topology.Replicas(want, k) = n
		}
		for k, without := range slots {
			topology.AskSlots(want, k, without)
		}
	}), nil
}

// Restart asks for a restart of components, by an annotation of their pods with the time, and of single members.
// Requests for members replace those that the TidbCluster has; nil keeps these. Restart changes nothing else. It
// fails with a *NoComponentError for a component that the cluster does not have.
func (c *Client) Restart(tc *v1alpha1.TidbCluster, kinds []topology.Kind, members map[string]topology.MemberRestart, at time.Time) (Change, error) {
	for _, k := range kinds {
		if topology.Replicas(tc, k) == nil {
			return Change{}, lacks(tc, k, func(c topology.Cluster) remedy.Command { return c.Plugin("restart", string(k)) })
		}
	}
	var about []string
	if members != nil {
		about = append(about, "metadata.annotations."+topology.AnnotationRestart)
	}
	return c.edit("restart", tc, about, func(want *v1alpha1.TidbCluster) {
		for _, k := range kinds {
			topology.AskRestart(want, k, at)
		}
		if members != nil {
			topology.AskMemberRestarts(want, members)
		}
	}), nil
}

// Replace asks for new volumes of members. The requests replace those that the TidbCluster has. Replace changes nothing
// else.
func (c *Client) Replace(tc *v1alpha1.TidbCluster, members map[string]topology.MemberReplacement) Change {
	return c.edit("replace", tc, []string{"metadata.annotations." + topology.AnnotationReplace}, func(want *v1alpha1.TidbCluster) {
		topology.AskMemberReplacements(want, members)
	})
}

// CancelReplace is Replace with the requests that stay. Where a change of volumes was not carried out yet, CancelReplace
// sets the spec back to the present claim templates.
func (c *Client) CancelReplace(tc *v1alpha1.TidbCluster, stay map[string]topology.MemberReplacement, back map[topology.Kind]map[string]topology.Volume) Change {
	about := []string{"metadata.annotations." + topology.AnnotationReplace}
	for _, k := range slices.Sorted(maps.Keys(back)) {
		about = append(about, "spec."+string(k))
	}
	return c.edit("replace", tc, about, func(want *v1alpha1.TidbCluster) {
		topology.AskMemberReplacements(want, stay)
		for k, templates := range back {
			topology.RestoreStorage(want, k, templates)
		}
	})
}

// Storage is what the volumes with a component's data are to be. An empty class and a size of 0 change nothing.
type Storage struct {
	Class string
	Size  topology.Size
}

// ReplaceWith asks for new volumes of members, as Replace does, and says in the spec what the volumes of components are
// to be. It fails where one size cannot say that.
func (c *Client) ReplaceWith(tc *v1alpha1.TidbCluster, members map[string]topology.MemberReplacement, kinds []topology.Kind, s Storage) (Change, error) {
	want, about := tc.DeepCopy(), []string{"metadata.annotations." + topology.AnnotationReplace}
	if s == (Storage{}) {
		kinds = nil
	}
	for _, k := range kinds {
		if err := topology.SetStorage(want, k, s.Class, s.Size); err != nil {
			return Change{}, err
		}
		about = append(about, "spec."+string(k))
	}
	topology.AskMemberReplacements(want, members)
	return c.write("replace", tc, want, about), nil
}

// SetVersion sets spec.version, and the own versions of some components. Other components with a version of their own
// keep it, see Pinned. It fails with a *NoComponentError for a component that the cluster does not have.
func (c *Client) SetVersion(tc *v1alpha1.TidbCluster, version string, own map[topology.Kind]string) (Change, error) {
	want, about := tc.DeepCopy(), []string{"spec.version"}
	want.Spec.Version = version
	for _, k := range slices.Sorted(maps.Keys(own)) {
		if !topology.SetOwnVersion(want, k, own[k]) {
			return Change{}, &NoComponentError{Namespace: tc.Namespace, Name: tc.Name, Component: k}
		}
		about = append(about, "spec."+string(k)+".version")
	}
	return c.write("set version of", tc, want, about), nil
}

// Configure changes settings in the configuration of a component, and nothing else; one that is nil
// is removed. It fails with a *NoComponentError for a component that the cluster does not have.
func (c *Client) Configure(tc *v1alpha1.TidbCluster, k topology.Kind, settings map[string]any) (Change, error) {
	if topology.Replicas(tc, k) == nil {
		return Change{}, &NoComponentError{Namespace: tc.Namespace, Name: tc.Name, Component: k}
	}
	text, err := topology.Configured(tc, k, settings)
	if err != nil {
		return Change{}, fmt.Errorf("configure %s of cluster %s/%s: %w", k.Title(), tc.Namespace, tc.Name, err)
	}
	patch, err := json.Marshal(topology.ConfigPatch(tc, k, text))
	if err != nil {
		return Change{}, fmt.Errorf("encode the configuration: %w", err)
	}
	want, err := merged(tc, patch)
	if err != nil {
		return Change{}, err
	}
	return c.write("configure", tc, want, []string{topology.FieldOf(tc, k).Child("config").String()}), nil
}

// Recover asks for the recovery from a component's failovers that tc shows, and from no
// others. It reports false where there is nothing to ask for.
func (c *Client) Recover(tc *v1alpha1.TidbCluster, kinds ...topology.Kind) (Change, bool) {
	var about []string
	want := tc.DeepCopy()
	for _, k := range kinds {
		if topology.AskRecovery(want, k) {
			about = append(about, "status."+string(k)+".failoverUID")
		}
	}
	return c.write("recover", tc, want, about), len(about) > 0
}

// edit is a write of what edit changes in the spec and in the annotations.
func (c *Client) edit(verb string, tc *v1alpha1.TidbCluster, about []string, edit func(want *v1alpha1.TidbCluster)) Change {
	want := tc.DeepCopy()
	edit(want)
	return c.write(verb, tc, want, about)
}

// write is a change of fields of the spec, and of annotations. It is refused when the fields that it is about have
// another value than in tc.
func (c *Client) write(verb string, tc, want *v1alpha1.TidbCluster, about []string) Change {
	return Change{Now: tc, Want: want, Write: func(ctx context.Context, w Write) error {
		spec, err := specPatch(tc, want)
		set := settings{spec: spec, annotations: changes(tc.Annotations, want.Annotations)}
		if err != nil || spec == nil && len(set.annotations) == 0 {
			return err
		}
		record, err := recorded(tc, want, w)
		if err != nil {
			return err
		}
		about := about
		if whole := topology.ListsIn(spec); len(whole) > 0 { // a merge patch replaces a list as a whole
			about = slices.Concat(about, whole)
		}
		if _, changes := set.annotations[topology.AnnotationCanary]; changes {
			about = append(slices.Clone(about), aboutCanary)
		}
		maps.Copy(set.annotations, record)
		return c.patch(ctx, verb, tc, set, about, w)
	}}
}

// specPatch returns the merge patch from one spec to another, nil when they are equal. Fields that
// our types do not know are in neither, and so stay as they are.
func specPatch(from, to *v1alpha1.TidbCluster) (json.RawMessage, error) {
	before, err := json.Marshal(from.Spec)
	if err != nil {
		return nil, fmt.Errorf("encode the spec: %w", err)
	}
	after, err := json.Marshal(to.Spec)
	if err != nil {
		return nil, fmt.Errorf("encode the spec: %w", err)
	}
	return mergePatch(before, after)
}

// mergePatch returns the merge patch from one document to another, nil when they are equal.
func mergePatch(before, after []byte) (json.RawMessage, error) {
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(before, after, before)
	if err != nil {
		return nil, fmt.Errorf("compare specs: %w", err)
	}
	if bytes.Equal(patch, []byte("{}")) {
		return nil, nil
	}
	return patch, nil
}

// settings are fields that a patch sets, or with null removes.
type settings struct {
	spec        json.RawMessage
	annotations map[string]any
	labels      map[string]any
}

// patchAt returns the patch of a version of the object.
func (p settings) patchAt(version string) ([]byte, error) {
	metadata := map[string]any{"resourceVersion": version}
	patch := map[string]any{"metadata": metadata}
	if len(p.annotations) > 0 {
		metadata["annotations"] = p.annotations
	}
	if len(p.labels) > 0 {
		metadata["labels"] = p.labels
	}
	if p.spec != nil { // null would remove the whole spec
		patch["spec"] = p.spec
	}
	return json.Marshal(patch)
}

// patch patches fields of the spec, and annotations. The object may have another version than the one that was read.
// The patch is made all the same as long as the fields that the change is about have not changed. Otherwise patch
// fails with a *ChangedError.
func (c *Client) patch(ctx context.Context, verb string, tc *v1alpha1.TidbCluster, set settings, about []string, w Write) error {
	version := tc.ResourceVersion
	for attempt := 1; ; attempt++ {
		body, err := set.patchAt(version)
		if err != nil {
			return fmt.Errorf("%s tidbcluster %s/%s: %w", verb, tc.Namespace, tc.Name, err)
		}
		_, err = c.resourceIn(tc.Namespace).Patch(ctx, tc.Name, types.MergePatchType, body, metav1.PatchOptions{
			FieldManager: w.manager(), FieldValidation: metav1.FieldValidationStrict, DryRun: w.dryRun(),
		})
		switch {
		case err == nil:
			return nil
		case apierrors.IsNotFound(err):
			return c.missing(ctx, tc.Namespace, tc.Name, err)
		case !apierrors.IsConflict(err) || attempt == attempts:
			return fmt.Errorf("%s tidbcluster %s/%s: %w", verb, tc.Namespace, tc.Name, err)
		}
		now, err := c.Load(ctx, tc.Namespace, tc.Name)
		if err != nil {
			return err
		}
		if what := difference(tc, now, about); what != "" {
			return &ChangedError{Namespace: tc.Namespace, Name: tc.Name, What: what}
		}
		version = now.ResourceVersion
	}
}

func difference(before, now *v1alpha1.TidbCluster, about []string) string {
	if before.UID != now.UID {
		return "it was deleted and created again"
	}
	for _, path := range about {
		if path == wholeSpec {
			if patch, err := specPatch(before, now); err != nil || patch != nil {
				return "its spec was changed"
			}
			continue
		}
		was, _ := value(before, path)
		is, ok := value(now, path)
		switch {
		case was == is:
		case !ok:
			return path + " is gone"
		default:
			return fmt.Sprintf("%s is %s now, it was %s", path, is, was)
		}
	}
	return ""
}

// value returns a field of a TidbCluster by its path, as text.
func value(tc *v1alpha1.TidbCluster, path string) (string, bool) {
	if key, is := strings.CutPrefix(path, "metadata.annotations."); is { // keys have dots
		text, ok := tc.Annotations[key]
		return text, ok
	}
	var fields map[string]any
	body, err := json.Marshal(tc)
	if err == nil {
		err = utiljson.Unmarshal(body, &fields)
	}
	if err != nil {
		return "", false // cannot happen, since it was decoded from JSON
	}
	v, ok, err := unstructured.NestedFieldNoCopy(fields, strings.Split(path, ".")...)
	if err != nil || !ok {
		return "", false
	}
	return fmt.Sprint(v), true
}

// Pin is a component with a version of its own.
type Pin struct {
	Component topology.Kind
	Version   string
}

// Pinned returns the components of a cluster that have another version than spec.version. Such a component has a
// version or a whole image of its own. Components whose releases have numbers of their own are left out.
func Pinned(tc *v1alpha1.TidbCluster) []Pin {
	var pins []Pin
	for _, g := range topology.New(tc).Groups {
		if g.Version != tc.Spec.Version && !g.Kind.OwnReleases() {
			pins = append(pins, Pin{Component: g.Kind, Version: g.Version})
		}
	}
	return pins
}
