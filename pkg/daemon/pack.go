package daemon

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"sync"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// packed is an object as the mirror keeps it: encoded, since between two looks at
// its cluster nobody reads it, and as the structs and maps of its type it would
// take several times the memory. With it is what tells whose it is.
type packed struct {
	namespace unique.Handle[string]
	name      string
	version   string // its resourceVersion, by which informers tell a change
	instance  string // of the cluster that it belongs to
	deflated  bool
	body      []byte
}

// GetObjectMeta implements metav1.ObjectMetaAccessor, which is all that an
// informer asks of what it keeps.
func (p *packed) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: p.namespace.Value(), Name: p.name, ResourceVersion: p.version}
}

// encodable is an object that can be packed.
type encodable interface {
	metav1.Object
	Marshal() ([]byte, error)
}

// small is up to how many bytes there is little to be gained from compression.
const small = 512

// pack encodes an object.
func pack(obj encodable) (*packed, error) {
	body, err := obj.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode %s/%s: %w", obj.GetNamespace(), obj.GetName(), err)
	}
	p := identify(obj)
	return &p, p.fill(body)
}

func identify(obj metav1.Object) packed {
	return packed{
		namespace: unique.Make(obj.GetNamespace()), name: obj.GetName(), version: obj.GetResourceVersion(),
		instance: obj.GetLabels()[topology.LabelInstance],
	}
}

func (p *packed) fill(body []byte) (err error) {
	p.body, p.deflated = body, len(body) > small
	if p.deflated {
		p.body, err = deflate(body)
	}
	return err
}

// content is the object, encoded.
func (p *packed) content() ([]byte, error) {
	if !p.deflated {
		return p.body, nil
	}
	body, err := inflate(p.body)
	if err != nil {
		return nil, p.broken(err)
	}
	return body, nil
}

// decodable is a pointer to an object that pack has encoded.
type decodable[T any] interface {
	*T
	Unmarshal([]byte) error
}

// unpack decodes an object. Each call makes another copy.
func unpack[T any, P decodable[T]](p *packed) (*T, error) {
	body, err := p.content()
	if err != nil {
		return nil, err
	}
	obj := new(T)
	if err := P(obj).Unmarshal(body); err != nil {
		return nil, p.broken(err)
	}
	return obj, nil
}

func (p *packed) broken(err error) error {
	return fmt.Errorf("decode the copy of %s/%s: %w", p.namespace.Value(), p.name, err)
}

// deflaters and inflaters are kept because each has buffers that are larger than
// what they work on.
var (
	deflaters = sync.Pool{New: func() any {
		w, _ := flate.NewWriter(nil, flate.DefaultCompression) // a level that there is: it cannot fail
		return w
	}}
	inflaters = sync.Pool{New: func() any { return flate.NewReader(nil) }}
)

func deflate(body []byte) ([]byte, error) {
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	var out bytes.Buffer
	w.Reset(&out)
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	err := w.Close()
	return bytes.Clone(out.Bytes()), err // with no room to grow: it is kept
}

func inflate(body []byte) ([]byte, error) {
	r := inflaters.Get().(io.ReadCloser)
	defer inflaters.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(body), nil); err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
