package daemon

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"sync"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// packed is an object as the mirror keeps it, which is encoded. The object is not read between two turns of its
// cluster, and decoded it would take several times the memory. The fields beside it identify the object and its
// cluster.
type packed struct {
	namespace unique.Handle[string]
	name      string
	version   string // its resourceVersion, by which informers see a change
	instance  string // the cluster that it belongs to
	deflated  bool
	body      []byte
}

// GetObjectMeta implements metav1.ObjectMetaAccessor, which is all that an informer
// needs.
func (p *packed) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: p.namespace.Value(), Name: p.name, ResourceVersion: p.version}
}

// encodable is an object that can be packed.
type encodable interface {
	metav1.Object
	Marshal() ([]byte, error)
}

// small is the size in bytes up to which compression saves little.
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

// content returns the encoded object.
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

// deflaters and inflaters are reused because the buffers of each are larger than
// the objects.
var (
	deflaters = sync.Pool{New: func() any {
		w, _ := flate.NewWriter(nil, flate.DefaultCompression) // fails only for a level that does not exist
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
	return bytes.Clone(out.Bytes()), err // without spare capacity, since it is kept
}

func inflate(body []byte) ([]byte, error) {
	r := inflaters.Get().(io.ReadCloser)
	defer inflaters.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(body), nil); err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
