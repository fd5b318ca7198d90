// Package bundle writes an archive of what people need to find out what is wrong with a cluster, to
// be sent to others. It has no value of a Secret: the values that could be read are taken out of
// every file, whatever has printed them.
package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// Bundle is an archive that is being written. What cannot be read is listed in it, and keeps nothing
// else from it.
type Bundle struct {
	gzip *gzip.Writer
	tar  *tar.Writer
	dir  string
	now  time.Time
	// hidden are the values that must not be in any file.
	hidden []string
	lacks  []string
	broken error // the archive could not be written
}

// New begins an archive. All of its files are in the directory dir.
func New(w io.Writer, dir string, now time.Time) *Bundle {
	zipped := gzip.NewWriter(w)
	return &Bundle{gzip: zipped, tar: tar.NewWriter(zipped), dir: dir, now: now}
}

// shortest is the length of the shortest value that is taken out of files: shorter ones are parts of
// other words.
const shortest = 6

// Hide takes the values of a Secret out of all files that are added from now on.
func (b *Bundle) Hide(data map[string][]byte) {
	for _, value := range data {
		for _, text := range append(strings.Split(string(value), "\n"), string(value), base64.StdEncoding.EncodeToString(value)) {
			if text = strings.TrimSpace(text); len(text) >= shortest && !strings.HasPrefix(text, "-----") {
				b.hidden = append(b.hidden, text)
			}
		}
	}
}

// Lack notes that something could not be read.
func (b *Bundle) Lack(what string, err error) {
	b.lacks = append(b.lacks, b.clean(fmt.Sprintf("%s: %v", what, err)))
}

// Lacks returns what could not be read, a line each.
func (b *Bundle) Lacks() []string { return b.lacks }

// removed stands for a value that was taken out.
const removed = "REMOVED"

// assigned matches a line of a configuration that gives a secret a value.
var assigned = regexp.MustCompile(`(?im)^(\s*"?[\w.-]*(?:password|passwd|secret|token|credential|private)[\w.-]*"?\s*[=:]\s*)\S.*$`)

func (b *Bundle) clean(text string) string {
	for _, h := range b.hidden {
		text = strings.ReplaceAll(text, h, removed)
	}
	return text
}

// Add adds a text.
func (b *Bundle) Add(name string, text []byte) {
	clean := []byte(b.clean(string(text)))
	if b.broken != nil {
		return
	}
	b.broken = b.tar.WriteHeader(&tar.Header{Name: b.dir + "/" + name, Mode: 0o600, Size: int64(len(clean)), ModTime: b.now})
	if b.broken == nil {
		_, b.broken = b.tar.Write(clean)
	}
}

// Read adds a text that is read, or notes why it could not be.
func (b *Bundle) Read(name string, read func() (io.ReadCloser, error)) {
	from, err := read()
	if err != nil {
		b.Lack(name, err)
		return
	}
	defer func() { _ = from.Close() }()
	var text bytes.Buffer
	if _, err := text.ReadFrom(from); err != nil {
		b.Lack(name, err) // what was read until then is added nevertheless
	}
	b.Add(name, text.Bytes())
}

// Object adds an object of Kubernetes, or a list of them, as YAML. What tools keep about an object for
// themselves is left out, as is what has the name of a secret.
func (b *Bundle) Object(name string, object any, err error) {
	b.document(name, object, err, func(fields any) ([]byte, error) { return yaml.Marshal(tidy(fields)) })
}

// JSON adds a value as JSON.
func (b *Bundle) JSON(name string, value any, err error) {
	b.document(name, value, err, func(fields any) ([]byte, error) { return json.MarshalIndent(fields, "", "  ") })
}

func (b *Bundle) document(name string, value any, err error, write func(any) ([]byte, error)) {
	var fields any
	var text []byte
	if err == nil {
		text, err = json.Marshal(value)
	}
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err == nil {
		text, err = write(fields)
	}
	if err != nil {
		b.Lack(name, err)
		return
	}
	b.Add(name, text)
}

// sensitive matches the names of variables whose values are secrets.
var sensitive = regexp.MustCompile(`(?i)password|passwd|secret|token|credential|private`)

// tidy removes from an object what must not be in the archive, and what nobody reads there.
func tidy(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if name, ok := v["name"].(string); ok && sensitive.MatchString(name) && v["value"] != nil {
			v["value"] = removed // of an environment variable
		}
		delete(v, "managedFields")
		for k, inner := range v {
			if strings.HasSuffix(k, "last-applied-configuration") {
				delete(v, k)
				continue
			}
			v[k] = tidy(inner)
		}
	case []any:
		for i := range v {
			v[i] = tidy(v[i])
		}
	case string:
		return assigned.ReplaceAllString(v, "${1}"+removed)
	}
	return value
}

// Close ends the archive with the list of what could not be read.
func (b *Bundle) Close() error {
	text := "Everything could be read.\n"
	if len(b.lacks) > 0 {
		text = strings.Join(b.lacks, "\n") + "\n"
	}
	b.Add("not-read.txt", []byte(text))
	if b.broken == nil {
		b.broken = b.tar.Close()
	}
	if b.broken == nil {
		b.broken = b.gzip.Close()
	}
	return b.broken
}
