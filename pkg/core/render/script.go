package render

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"text/template"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

//go:embed scripts/*.sh.tmpl
var scriptFiles embed.FS

// script is a start script and what it depends on.
//
// The text of a script that is in use is kept byte for byte, also if others wrote it. The reason is that with the
// RollingUpdate strategy a single different byte restarts every pod. It is only replaced when it does not fit the spec
// any more, see fits.
type script struct {
	name string
	// data are the values for the template.
	data map[string]any
	// words must be in a script, or must not be, so that it starts the component as the spec says.
	// They cover what a spec can change; the rest is the same in every script.
	words []word
	// program is what an operator's script executes with the user's arguments
	// last, "" where there can be none.
	program   string
	arguments []string
}

// inline is a start script in the pod template instead of the ConfigMap.
type inline struct {
	container string
	script    script
}

// command returns the command of a container whose start script is in the pod template, nil for
// another container. The one that was applied last is kept as long as it fits: another text would
// restart every pod.
func (comp component) command(container string, applied []corev1.Container) ([]string, error) {
	for _, in := range comp.inline {
		if in.container != container {
			continue
		}
		for _, c := range applied {
			if c.Name == container && len(c.Command) == 3 && c.Command[1] == "-c" && in.script.startsAsWanted(c.Command[2]) {
				return c.Command, nil
			}
		}
		text, err := in.script.text()
		return []string{"/bin/sh", "-c", text}, err
	}
	return nil, nil
}

// word is a piece of a script that does not continue on either side: /a/b is
// not found in /a/b/c.
type word struct {
	text   string
	absent bool
	// quoted is its text in our own scripts, if that differs.
	quoted string
	// ours is true if only our own scripts have it.
	ours bool
	// or is the same in another form that an operator's script can have; "" for none.
	or string
	// read is text of a script that finds the word out when it runs, as all of our scripts do. Such a script need not
	// have the word. read is "" where all scripts have the word.
	read string
}

// peers returns the part of a pod's DNS name after the pod's name.
func peers(c topology.Cluster, k topology.Kind) string {
	_, rest, _ := strings.Cut(c.PodHost(k, 0), ".")
	return rest
}

// clusterWords are the words of addresses.
func clusterWords(c topology.Cluster) []word {
	words := append(domainWords(c), partWords(c)...)
	if c.TLS.Members {
		words = append(words, word{text: c.Scheme(), ours: true})
	}
	return words
}

// ownAddress is the part of scripts that waits for the name of the pod. The name must have one of the pod's own
// addresses.
const ownAddress = "scripts/own-address.sh.tmpl"

// startTimeout returns how many seconds a script waits for the pod's name to lead to the pod. It is 0 where the script
// does not wait. As in tidb-operator it is the start timeout of PD, for TiKV too.
func startTimeout(c topology.Cluster, waits bool) int {
	if !waits {
		return 0
	}
	pd := c.Source.Spec.PD
	if pd == nil { // of a part without PD
		return topology.PDStartTimeout
	}
	return pd.StartTimeout
}

// rootDot ends a whole name for a look-up in DNS. Without it, the name is the one that the kubelet writes into
// /etc/hosts with the pod's address, and each look-up would succeed at once.
func rootDot(c topology.Cluster) string {
	if c.Domain == "" {
		return ""
	}
	return "."
}

// startWords are the words of what a script waits for. An operator's script waits in its own words, and is kept.
func startWords(seconds int) []word {
	if seconds > 0 {
		return []word{{text: fmt.Sprintf("own-address-within-%ds", seconds), ours: true}}
	}
	return nil
}

// partWords are the words of PD's address in a part. The script of an operator asks the discovery server for the
// addresses of PD in other Kubernetes clusters.
func partWords(c topology.Cluster) []word {
	address := c.PDEndpoints()
	switch {
	case c.UsesOtherPD():
		return []word{{text: address, or: "//" + address}}
	case c.JoinsAcross():
		return []word{{text: address, ours: true}}
	}
	return nil
}

// domainWords are the words of names of hosts.
func domainWords(c topology.Cluster) []word {
	if c.Domain == "" {
		return nil
	}
	return []word{{text: "svc." + c.Domain}}
}

// mark begins the line by which we recognise our own scripts.
const mark = "Made by kubectl-tidb for"

func newScript(k topology.Kind, data map[string]any, words ...word) script {
	line := mark
	for _, w := range words {
		if w.read != "" {
			continue
		}
		sign := " +"
		if w.absent {
			sign = " -"
		}
		line += sign + firstGiven(w.quoted, w.text)
	}
	data["Mark"] = strings.ReplaceAll(line, "\n", " ")
	return script{name: string(k), data: data, words: words}
}

// text renders the script.
func (s script) text() (string, error) {
	name := s.name + ".sh.tmpl"
	t, err := template.ParseFS(scriptFiles, path.Join("scripts", name), ownAddress)
	if err != nil {
		return "", fmt.Errorf("read the start script: %w", err)
	}
	var b strings.Builder
	if err := t.ExecuteTemplate(&b, name, s.data); err != nil {
		return "", fmt.Errorf("render the start script: %w", err)
	}
	return b.String(), nil
}

// startsAsWanted reports whether a script that is in use starts the component as the spec says. One of our
// scripts names the values that it was made for. In an operator's script, the words are searched
// that every operator's script has.
func (s script) startsAsWanted(text string) bool {
	if strings.Contains(text, "# "+mark) {
		return strings.Contains(text, fmt.Sprintf("# %s\n", s.data["Mark"]))
	}
	for _, w := range s.words {
		if !w.ours && !w.leftOpen(text) && w.isIn(text) == w.absent {
			return false
		}
	}
	if last, ok := executed(text, s.program); ok && !slices.Equal(last, s.arguments) {
		return false // it may have more arguments than are asked for
	}
	return text != ""
}

// isIn reports whether a script has the word.
func (w word) isIn(text string) bool {
	return hasWord(text, w.text) || w.or != "" && hasWord(text, w.or)
}

// leftOpen reports whether a script finds out when it runs whether it uses the word.
func (w word) leftOpen(text string) bool { return w.read != "" && strings.Contains(text, w.read) }

// executed returns the words after a program, on the line that executes the program. The words come after a variable
// with the program's own arguments. It returns false if a script has no such line.
func executed(text, program string) ([]string, bool) {
	if program == "" {
		return nil, false
	}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) > 2 && words[0] == "exec" && words[1] == program && strings.HasPrefix(words[2], "$") {
			return words[3:], true
		}
	}
	return nil, false
}

func hasWord(text, word string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		start := from + i
		end := start + len(word)
		if (start == 0 || !continues(text[start-1])) &&
			(end == len(text) || text[end] != '.' && !continues(text[end])) {
			return true
		}
		from = start + 1
	}
}

// continues reports whether a character belongs to the path, name or list beside
// it.
func continues(c byte) bool {
	return c == '/' || c == '_' || c == '-' || c == ',' ||
		'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
