package state

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// StoreElsewhere is a store of TiKV that is no member of this TidbCluster, and that PD does not call Up.
type StoreElsewhere struct {
	ID      uint64
	Address string
	State   StoreState
	// Serves is true for a store that is Offline and sends heartbeats. Such a store serves while its regions leave.
	Serves bool
}

// MissingElsewhere says which stores of TiKV PD counts and does not call Up, though no given cluster has them. It is
// "" where there is none. The given clusters have the same PD. A region may have copies on such a store and on one
// of ours. With both down it has no quorum. So nothing is taken away from such regions before all of them serve.
// Stores of TiFlash do not count: their copies do not vote.
func MissingElsewhere(same ...Snapshot) string {
	if len(same) == 0 {
		return ""
	}
	pd, ours := same[0].PD, map[uint64]bool{}
	n := pd.Stores - pd.UpStores
	for _, s := range same {
		for _, g := range s.Groups {
			for _, m := range g.Members {
				if m.CountsAsStore() && !ours[m.Database.ID] && m.Database.State != StoreUp {
					n--
				}
				ours[m.Database.ID] = ours[m.Database.ID] || m.CountsAsStore()
			}
		}
	}
	var names []string
	for _, s := range pd.Elsewhere {
		switch {
		case ours[s.ID]:
		case s.Serves:
			n--
		default:
			names = append(names, fmt.Sprintf("%s (%s)", s.Address, s.State))
		}
	}
	return notUp(n, names)
}

// StoresNotUp returns the ids of the stores of TiKV, here and elsewhere, that PD counts and does not call Up.
func (s Snapshot) StoresNotUp() []uint64 {
	var ids []uint64
	for _, g := range s.Groups {
		for _, m := range g.Members {
			if m.CountsAsStore() && m.Database.State != StoreUp {
				ids = append(ids, m.Database.ID)
			}
		}
	}
	for _, e := range s.PD.Elsewhere {
		ids = append(ids, e.ID)
	}
	slices.Sort(ids)
	return ids
}

// RemovedStores returns the ids of the stores whose removal we have recorded.
func (s Snapshot) RemovedStores() []uint64 {
	var ids []uint64
	for _, r := range s.Removals {
		ids = append(ids, r.StoreID)
	}
	return ids
}

// CountsAsStore reports whether a member is one of the stores that PD.Stores counts.
func (m Member) CountsAsStore() bool { return m.Kind.Leads() && m.CountedOn() }

// namedStores is how many stores a message names.
const namedStores = 3

func notUp(n int, names []string) string {
	if n <= 0 {
		return ""
	}
	text := fmt.Sprintf("PD does not call %d stores Up that are no members of this cluster", n)
	if n == 1 {
		text = "PD does not call 1 store Up that is no member of this cluster"
	}
	if len(names) == 0 {
		return text
	}
	if more := len(names) - namedStores; more > 0 {
		names = append(names[:namedStores:namedStores], fmt.Sprintf("%d more", more))
	}
	return text + ": " + strings.Join(names, ", ")
}

// OtherStore is a store in PD that is no member of this TidbCluster and no tombstone.
type OtherStore struct {
	Component topology.Kind
	ID        uint64
	Host      string
	State     StoreState
	Leaders   int // of regions; negative where that is unknown
}

// OtherVoter is a member of PD that is no member of this TidbCluster and has started.
type OtherVoter struct {
	ID        uint64
	Name      string
	ClientURL string
	Healthy   bool
	Unasked   bool // whether it is healthy is unknown, as PD's health check takes long
}

// Host returns the host of the member, "" where its URL is malformed.
func (v OtherVoter) Host() string {
	u, err := url.Parse(v.ClientURL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
