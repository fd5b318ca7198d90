package pd

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// LogBackupPause is what PD's etcd says of a pause. All fields are empty where BR wrote none, as old versions do.
type LogBackupPause struct {
	Severity string    // ERROR where TiDB has paused the log backup because of an error
	Host     string    // where BR or TiDB ran
	At       time.Time // zero where that is not written
	Why      string    // the error, or what a person has written
}

// LogBackupError is the last error of a store.
type LogBackupError struct {
	Store uint64
	At    time.Time
	Code  string // such as KV:LogBackup:Other
	Text  string
}

// eachField calls a function for each field of a protobuf message. A field has a number or bytes. What follows a field
// that cannot be read is left out.
func eachField(message []byte, do func(field protowire.Number, number uint64, bytes []byte)) {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return
		}
		message = message[n:]
		var number uint64
		var bytes []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			bytes, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return
		}
		do(field, number, bytes)
		message = message[n:]
	}
}

// setInformation sets what the information of a task says (StreamBackupTaskInfo of brpb).
func (b *LogBackup) setInformation(message []byte) {
	eachField(message, func(field protowire.Number, number uint64, bytes []byte) {
		switch field {
		case 1:
			b.Storage = storageOf(bytes)
		case 2:
			b.Start = physical(int64(number)) //nolint:gosec // a timestamp has 63 bits
		case 5:
			b.Filters = append(b.Filters, string(bytes))
		}
	})
}

// storageOf returns the URL of a storage (StorageBackend of brpb), without parameters. It is "" for other kinds of storage.
func storageOf(message []byte) (at string) {
	kinds := map[protowire.Number]struct {
		scheme         string
		bucket, prefix protowire.Number
	}{2: {"local", 0, 1}, 3: {"s3", 3, 4}, 4: {"gcs", 2, 3}}
	eachField(message, func(field protowire.Number, _ uint64, bytes []byte) {
		kind, known := kinds[field]
		if !known {
			return
		}
		var bucket, prefix string
		eachField(bytes, func(field protowire.Number, _ uint64, bytes []byte) {
			switch field {
			case kind.bucket:
				bucket = string(bytes)
			case kind.prefix:
				prefix = string(bytes)
			}
		})
		at = fmt.Sprintf("%s://%s/%s", kind.scheme, bucket, strings.Trim(prefix, "/"))
	})
	return at
}

// lastError returns an error of a store (StreamBackupError of brpb).
func lastError(message []byte) (e LogBackupError) {
	eachField(message, func(field protowire.Number, number uint64, bytes []byte) {
		switch field {
		case 1:
			e.At = time.UnixMilli(int64(number)).UTC() //nolint:gosec // milliseconds since 1970
		case 2:
			e.Code = string(bytes)
		case 3:
			e.Text = string(bytes)
		case 4:
			e.Store = number
		}
	})
	return e
}

// pauseOf returns what a pause says. Old versions of BR write an empty value.
func pauseOf(value []byte) (p LogBackupPause) {
	var written struct {
		Severity string    `json:"severity"`
		Host     string    `json:"operation_hostname"`
		At       time.Time `json:"operation_time"`
		Type     string    `json:"payload_type"`
		Payload  string    `json:"payload"`
	}
	if json.Unmarshal(value, &written) != nil {
		return p
	}
	p = LogBackupPause{Severity: written.Severity, Host: written.Host, At: written.At}
	payload, err := base64.StdEncoding.DecodeString(written.Payload)
	switch {
	case err != nil:
	case strings.HasPrefix(written.Type, "text/plain"):
		p.Why = string(payload)
	case strings.Contains(written.Type, "StreamBackupError"):
		p.Why = lastError(payload).Text
	}
	return p
}

// timestamp returns the time of a timestamp in PD's etcd, zero where the value is none.
func timestamp(value []byte) time.Time {
	if len(value) != 8 {
		return time.Time{}
	}
	return physical(int64(binary.BigEndian.Uint64(value))) //nolint:gosec // a timestamp has 63 bits
}
