//go:build linux

package loopback

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// region is what PD says of one.
type region struct {
	ID     uint64    `json:"id"`
	Start  string    `json:"start_key"`
	Leader replica   `json:"leader"`
	Peers  []replica `json:"peers"`
}

type replica struct {
	Store uint64 `json:"store_id"`
}

// spread waits until each region has a replica on each store, and moves leaders until each store leads some regions: in
// a new cluster one store leads all.
func (d *database) spread(t *testing.T) {
	t.Helper()
	waitFor(t, "leaders on all stores", func() error {
		var found struct{ Regions []region }
		if err := d.ask("regions", &found); err != nil {
			return err
		}
		slices.SortFunc(found.Regions, func(a, b region) int { return strings.Compare(a.Start, b.Start) })
		// Regions are in the order of their keys, so that the parts of a table are led by several stores.
		for i, r := range found.Regions {
			if len(r.Peers) != stores {
				return fmt.Errorf("region %d has %d replicas", r.ID, len(r.Peers))
			}
			slices.SortFunc(r.Peers, func(a, b replica) int { return int(a.Store) - int(b.Store) })
			if wanted := r.Peers[i%stores].Store; r.Leader.Store != wanted {
				return d.transferLeader(r, wanted)
			}
		}
		return nil
	})
}

// transferLeader asks PD to move the leader of a region, and returns what is waited for.
func (d *database) transferLeader(r region, store uint64) error {
	order, err := json.Marshal(map[string]any{"name": "transfer-leader", "region_id": r.ID, "to_store_id": store})
	if err != nil {
		return err
	}
	client, err := d.tls.client()
	if err != nil {
		return err
	}
	answer, err := client.Post(d.tls.scheme()+"://"+d.pd+"/pd/api/v1/operators", "application/json", bytes.NewReader(order))
	if err != nil {
		return err
	}
	return errors.Join(answer.Body.Close(), fmt.Errorf("region %d is led by store %d, not %d", r.ID, r.Leader.Store, store))
}

// ask decodes what PD answers.
func (d *database) ask(path string, into any) error {
	client, err := d.tls.client()
	if err != nil {
		return err
	}
	answer, err := client.Get(d.tls.scheme() + "://" + d.pd + "/pd/api/v1/" + path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return json.NewDecoder(answer.Body).Decode(into)
}
