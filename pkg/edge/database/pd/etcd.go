package pd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// etcdVersions begin the paths of the HTTP gateway of PD's etcd, which each member of PD serves on its client port. The
// first is that of etcd from 3.4 on, the second that of 3.3.
var etcdVersions = [...]string{"/v3", "/v3beta"}

// etcdHeader is what each answer of etcd has.
type etcdHeader struct {
	Header struct {
		ClusterID string `json:"cluster_id"`
	} `json:"header"`
}

func (h etcdHeader) isEtcd() bool { return h.Header.ClusterID != "" }

// etcdEntry is a key in PD's etcd, and its value.
type etcdEntry struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

// etcd asks the etcd of PD. PD has no API for what other programs write into its etcd. etcd answers with what its leader
// has, and writes only what a quorum has. answered is when PD answered, by the clock of the answering member.
func (c *client) etcd(ctx context.Context, op, path string, body any, out interface{ isEtcd() bool }) (answered time.Time, err error) {
	err = c.call(ctx, op, func(ctx context.Context, m member) error {
		var err error
		for _, version := range etcdVersions {
			err = m.raw(ctx, request{method: http.MethodPost, path: version + path, body: body, out: out, date: &answered})
			var status *StatusError
			if !errors.As(err, &status) || status.Code != http.StatusNotFound {
				break
			}
		}
		return err
	})
	if err == nil && !out.isEtcd() {
		err = fmt.Errorf("%s: the answer is not one of etcd", op) // else nothing would seem to be there
	}
	return answered, err
}

// etcdEntries returns a range of keys in PD's etcd.
func (c *client) etcdEntries(ctx context.Context, op, from, to string) (all []etcdEntry, answered time.Time, err error) {
	var answer struct {
		etcdHeader
		Entries []etcdEntry `json:"kvs"`
	}
	// encoding/json writes bytes as etcd reads them.
	answered, err = c.etcd(ctx, op, "/kv/range", map[string][]byte{"key": []byte(from), "range_end": []byte(to)}, &answer)
	return answer.Entries, answered, err
}
