// Package bundle writes an archive about a cluster, for the people who find out what is wrong with it. The values of
// the Secrets that it reads are taken out of every file, whatever has printed the values. These Secrets hold the
// cluster's certificates and the first password of root. Values under six characters stay, since they are parts of
// other words. Objects of Kubernetes also lose what has the name of a secret, wherever its value comes from.
package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/harmless"
)

// Bundle is an archive that is being written. What cannot be read is listed in it, and keeps nothing
// else from it.
type Bundle struct {
	gzip *gzip.Writer
	tar  *tar.Writer
	dir  string
	now  time.Time
	// hidden are the values that must not be in any file.
	hidden    []string
	lacks     []string
	unwritten []string
	broken    error // the archive could not be written
}

// New begins an archive. All of its files are in the directory dir.
func New(w io.Writer, dir string, now time.Time) *Bundle {
	zipped := gzip.NewWriter(w)
	return &Bundle{gzip: zipped, tar: tar.NewWriter(zipped), dir: dir, now: now}
}

// Lack notes that something could not be read.
func (b *Bundle) Lack(what string, err error) {
	b.lacks = append(b.lacks, b.clean(fmt.Sprintf("%s: %v", what, err)))
}

// Unwritten returns the names of files that could not be made although what belongs into them was read.
func (b *Bundle) Unwritten() []string { return b.unwritten }

// Lacks returns what could not be read, a line each.
func (b *Bundle) Lacks() []string { return b.lacks }

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
	b.document(name, object, err, func(fields any) ([]byte, error) { return harmless.YAML(tidy(fields)) })
}

// JSON adds a value as JSON.
func (b *Bundle) JSON(name string, value any, err error) {
	b.document(name, value, err, func(fields any) ([]byte, error) {
		text, err := json.MarshalIndent(fields, "", "  ")
		return harmless.JSON(text), err
	})
}

func (b *Bundle) document(name string, value any, err error, write func(any) ([]byte, error)) {
	if err != nil {
		b.Lack(name, err)
		return
	}
	var fields any
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err == nil {
		text, err = write(b.cleanAll(fields))
	}
	if err != nil {
		b.Lack(name, err)
		b.unwritten = append(b.unwritten, name)
		return
	}
	b.Add(name, text)
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
