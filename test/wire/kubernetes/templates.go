package kubernetes

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// templates are the pod templates of a component and the names that the model has for them.
type templates struct {
	named map[string]corev1.PodTemplateSpec
	names map[string]string // by the digest of the template
	// wanted are those that a user asks for and that nobody has written yet.
	wanted map[string]corev1.PodTemplateSpec
	// others are the templates that a person has written into the StatefulSet, by their digests: true for those that
	// nobody may get.
	others map[string]bool
	// live is the digest of the template that the StatefulSet has. putBack is when a client has replaced one of others.
	live    string
	putBack time.Time
}

// insisting is how soon after a template was put back a change of the template counts as the change of a tool that does
// not leave it: see package render. A template that stays for that reason is one that a user may get.
const insisting = 10 * time.Minute

// changed says that a person has written a template.
func (t *templates) changed(template corev1.PodTemplateSpec, at time.Time) {
	t.live = digestOf(template)
	t.others[t.live] = at.Sub(t.putBack) >= insisting
}

// applied says that a client has written a template.
func (t *templates) applied(template corev1.PodTemplateSpec, at time.Time) {
	was := t.live
	t.live = digestOf(template)
	if _, byHand := t.others[was]; byHand && was != t.live {
		t.putBack = at
	}
}

func newTemplates() *templates {
	return &templates{
		named: map[string]corev1.PodTemplateSpec{}, names: map[string]string{}, wanted: map[string]corev1.PodTemplateSpec{},
		others: map[string]bool{},
	}
}

// name returns the name of the pod template of a StatefulSet. The name follows from what the plugin has applied, so
// that the name of a wanted template is known before the template is written. A template that others have changed has
// another name.
func (t *templates) name(k topology.Kind, set *appsv1.StatefulSet) string {
	digest := digestOf(set.Spec.Template)
	if name, known := t.names[digest]; known {
		return name
	}
	name := templateName(k, render.Template(set), set.Spec.Template)
	if _, taken := t.named[name]; taken {
		name = templateName(k, digest, set.Spec.Template)
	}
	t.add(name, set.Spec.Template)
	return name
}

func (t *templates) add(name string, template corev1.PodTemplateSpec) {
	t.named[name], t.names[digestOf(template)] = template, name
}

// templateName returns the model's name, as in v8.5.0+76f97beda943e413-crashing. It has the release, what distinguishes
// the template from others of the release, and the flaw.
func templateName(k topology.Kind, fingerprint string, template corev1.PodTemplateSpec) string {
	release, flaw := "none", template.Annotations[Flaw]
	for _, c := range template.Spec.Containers {
		if c.Name != string(k) {
			continue
		}
		release, _, _ = strings.Cut(tagOf(c.Image), "-")
		if _, of, flawed := strings.Cut(c.Image, byHand+"-"); flawed {
			flaw = of
		}
	}
	name := release + "+" + fingerprint
	if flaw != "" {
		name += "-" + flaw
	}
	return name
}

// ByDigest returns an image with the digest of its tag, as a webhook writes it. In this world a digest is the tag in
// other digits.
func ByDigest(image string) string {
	repository, tag, tagged := strings.Cut(image, ":")
	if !tagged || strings.Contains(image, "@") {
		return image
	}
	return repository + digestMark + hex.EncodeToString([]byte(tag)) + strings.Repeat("0", 64-2*len(tag))
}

const digestMark = "@sha256:"

// tagOf returns the tag of an image, also where the image has a digest in its place.
func tagOf(image string) string {
	_, digest, pinned := strings.Cut(image, digestMark)
	if !pinned {
		return topology.Tag(image)
	}
	tag, err := hex.DecodeString(digest)
	if err != nil {
		panic("wire: no digest of this world: " + image)
	}
	return strings.TrimRight(string(tag), "\x00")
}

// byHand is in the tag of an image that a person has set, before its flaw.
const byHand = "-by-hand"

// ChangedByHand says that a person has written the pod template that the StatefulSet of a component has now. So no user
// of the TidbCluster asks for that template.
func (b *Bridge) ChangedByHand(k topology.Kind) {
	if set, there := b.set(k); there {
		b.templates[k].changed(set.Spec.Template, b.model.Now())
	}
}

func digestOf(template corev1.PodTemplateSpec) string {
	body, err := json.Marshal(template)
	if err != nil {
		panic("wire: encode a pod template: " + err.Error())
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// revisionName returns the name of the ControllerRevision of a template, "" for none.
func (b *Bridge) revisionName(k topology.Kind, template string) string {
	if template == "" {
		return ""
	}
	return b.cluster.SetName(k) + "-" + strings.NewReplacer(" ", "-", ":", "-", "+", "-").Replace(template)
}
