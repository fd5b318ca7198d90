package tikv

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// ErrNoFlush means that this version of TiKV cannot be asked to flush its log backup.
var ErrNoFlush = errors.New("this version of TiKV does not flush its log backup when it is asked to")

const (
	flushPath = "/logbackup.LogBackup/FlushNow"
	// unimplemented is gRPC's code for a method that a server does not have.
	unimplemented = "12"
	maxFlushed    = 1 << 20
	frameHeader   = 5 // of gRPC: whether the message is compressed, and its length
)

// Flushed is what became of one task.
type Flushed struct {
	Task string
	// Problem says why it was not flushed; "" where it was.
	Problem string
}

// Flush has a store upload what its log backup (point-in-time recovery) has not uploaded yet. It returns what became
// of each task; none where there is no task. base is the address of the store, such as
// http://basic-tikv-0.basic-tikv-peer.db.svc:20160. TiKV serves this with gRPC only: one request with an empty
// message over HTTP/2, and trailers with the status. The transport is used for nothing else.
func Flush(ctx context.Context, over *http.Transport, base string) ([]Flushed, error) {
	over.Protocols = new(http.Protocols)
	over.Protocols.SetHTTP2(true)
	over.Protocols.SetUnencryptedHTTP2(true)
	fail := func(err error) ([]Flushed, error) { return nil, fmt.Errorf("flush log backup of %s: %w", base, err) }
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+flushPath, bytes.NewReader(make([]byte, frameHeader)))
	if err != nil {
		return fail(err)
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("Te", "trailers")
	resp, err := over.RoundTrip(req)
	if err != nil {
		return fail(err)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxFlushed)) // trailers come after it
	if failed := errors.Join(err, resp.Body.Close()); failed != nil {
		return fail(failed)
	}
	if resp.StatusCode != http.StatusOK {
		return fail(errors.New(resp.Status))
	}
	status := cmp.Or(resp.Trailer.Get("Grpc-Status"), resp.Header.Get("Grpc-Status"))
	switch status {
	case "0":
	case unimplemented:
		return fail(ErrNoFlush)
	default:
		text, _ := url.PathUnescape(cmp.Or(resp.Trailer.Get("Grpc-Message"), resp.Header.Get("Grpc-Message")))
		return fail(fmt.Errorf("gRPC status %q: %.200q", status, text))
	}
	all, err := decodeFlushed(body)
	if err != nil {
		return fail(err)
	}
	return all, nil
}

var errMalformed = errors.New("the answer cannot be read")

// decodeFlushed decodes the answer, which is a frame of gRPC with a message whose field 1 is repeated. Field 1 has
// the name of a task (1), whether the task was flushed (2), and why it was not (3).
func decodeFlushed(body []byte) ([]Flushed, error) {
	if len(body) < frameHeader || body[0] != 0 || int64(binary.BigEndian.Uint32(body[1:])) != int64(len(body)-frameHeader) {
		return nil, errMalformed
	}
	var all []Flushed
	err := fields(body[frameHeader:], func(number uint64, _ uint64, text []byte) error {
		if number != 1 {
			return nil
		}
		var f Flushed
		success := false
		err := fields(text, func(number, value uint64, text []byte) error {
			switch number {
			case 1:
				f.Task = string(text)
			case 2:
				success = value != 0
			case 3:
				f.Problem = string(text)
			}
			return nil
		})
		if f.Problem = cmp.Or(f.Problem, "TiKV does not say why"); success {
			f.Problem = ""
		}
		all = append(all, f)
		return err
	})
	return all, err
}

// fields calls with the number of each field of a message of protobuf, and with its value or text. Numbers of fixed
// size do not occur.
func fields(message []byte, with func(number, value uint64, text []byte) error) error {
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		if n <= 0 {
			return errMalformed
		}
		value, m := binary.Uvarint(message[n:])
		if m <= 0 {
			return errMalformed
		}
		message = message[n+m:]
		var text []byte
		switch key & 7 {
		case 0:
		case 2:
			if value > uint64(len(message)) {
				return errMalformed
			}
			text, message = message[:value], message[value:]
		default:
			return errMalformed
		}
		if err := with(key>>3, value, text); err != nil {
			return err
		}
	}
	return nil
}
