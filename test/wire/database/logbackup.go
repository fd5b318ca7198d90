package database

import (
	"encoding/binary"
	"net/http"
	"net/url"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// flushes reports whether a port is that of TiKV for gRPC. On that port a store is asked to flush its log
// backup.
func flushes(k topology.Kind, port int) bool {
	return k == topology.TiKV && port == topology.TiKVServerPort
}

// flush answers with gRPC that each task of log backup was flushed. The answer is a frame with a message, and
// trailers with the status.
func (d *Database) flush(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/grpc")
	if r.Method != http.MethodPost || r.URL.Path != "/logbackup.LogBackup/FlushNow" {
		d.unserved = append(d.unserved, "tikv: "+r.Method+" "+r.URL.Path)
		w.Header().Set("Grpc-Status", "12")
		return
	}
	if d.FlushFails != "" {
		w.Header().Set("Grpc-Status", "2")
		w.Header().Set("Grpc-Message", url.PathEscape(d.FlushFails))
		return
	}
	w.Header().Set("Trailer", "Grpc-Status")
	var message []byte
	for _, task := range d.LogBackups {
		one := append(bytesField(1, task), 2<<3, 1) // the name, and that it was flushed
		message = append(message, bytesField(1, string(one))...)
	}
	frame := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))
	_, _ = w.Write(append(frame, message...))
	w.Header().Set("Grpc-Status", "0")
}

// bytesField encodes a field of a message of protobuf.
func bytesField(number byte, value string) []byte {
	return append(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(value))), value...)
}
