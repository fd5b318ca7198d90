package pd

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// BinlogNode is a Pump or a drainer as it has registered itself in PD's etcd. A process that was killed stays as it was
// there: only Updated shows whether it lives.
type BinlogNode struct {
	ID   string
	Host string // with its port
	// Drainer: it is a drainer, else a Pump.
	Drainer bool
	State   string // online, pausing, paused, closing or offline
	// Written is up to when a Pump has a binlog, or a drainer has read it, by PD's clock.
	Written time.Time
	// Updated is when the node last wrote this, by PD's clock. Answered is when PD answered, by the clock of the
	// answering member. Answered is cut to seconds, and zero when PD does not say so.
	Updated, Answered time.Time
}

const (
	binlogPrefix = "/tidb-binlog/v1/"
	binlogEnd    = "/tidb-binlog/v10"
)

// BinlogNodes implements Client.
func (c *client) BinlogNodes(ctx context.Context) ([]BinlogNode, error) {
	const op = "list Pumps and drainers"
	entries, answered, err := c.etcdEntries(ctx, op, binlogPrefix, binlogEnd)
	if err != nil {
		return nil, err
	}
	nodes := []BinlogNode{}
	for _, e := range entries {
		n, ok, err := binlogNode(string(e.Key), e.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", op, err)
		}
		if ok {
			n.Answered = answered
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

// binlogNode decodes an entry; false for one of another kind. A Pump that cannot be read is an error: left out, its
// data would look as if nobody counted on it.
func binlogNode(key string, value []byte) (BinlogNode, bool, error) {
	kind, _, _ := strings.Cut(strings.TrimPrefix(key, binlogPrefix), "/")
	if kind != "pumps" && kind != "drainers" {
		return BinlogNode{}, false, nil
	}
	var n struct {
		ID      string `json:"nodeId"`
		Host    string `json:"host"`
		State   string `json:"state"`
		Written int64  `json:"maxCommitTS"`
		Updated int64  `json:"updateTS"`
	}
	if err := json.Unmarshal(value, &n); err != nil {
		return BinlogNode{}, false, fmt.Errorf("decode %s: %w", key, err)
	}
	return BinlogNode{
		ID: n.ID, Host: n.Host, Drainer: kind == "drainers", State: n.State, Written: physical(n.Written), Updated: physical(n.Updated),
	}, true, nil
}

// physical returns the time in a timestamp of PD, the zero time for none: its upper bits are milliseconds.
func physical(ts int64) time.Time {
	if ts == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ts >> 18)
}
