package e2e

import (
	"math/rand/v2"
	"testing"
	"time"
)

// networked is a cluster whose data is on network disks, with one member of each component on each host.
const networked = `  topologySpreadConstraints: [{topologyKey: kubernetes.io/hostname}]
  pd: {baseImage: pingcap/pd, replicas: 3, storageClassName: local, requests: {storage: 1Gi}, config: {}}
  tikv: {baseImage: pingcap/tikv, replicas: 3, storageClassName: local, requests: {storage: 1Gi}, config: {}}
  tiflash: {baseImage: pingcap/tiflash, replicas: 2, storageClaims: [{storageClassName: local, resources: {requests: {storage: 1Gi}}}]}
  tidb: {baseImage: pingcap/tidb, replicas: 2, config: {}}`

// TestHostsMoved moves stores, members of PD and TiFlash from network disks to disks of the hosts, and back. A client
// writes meanwhile. The commands are killed at ten random moments, and repeated each time. It needs three hosts: make
// e2e-hosts.
func TestHostsMoved(t *testing.T) {
	needsHosts(t)
	s := newEnvironment(t, "e2e-moved")
	s.apply(t, networked)
	want := map[string]int{"pd": 3, "tikv": 3, "tiflash": 2, "tidb": 2}
	s.wantMembers(t, want, release{all: from})
	db, writer := s.writes(t, "moved")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	k := killer{environment: s, rng: rand.New(rand.NewPCG(seed, 0))}
	moves, before := moves("host-disk", "local"), s.claimUIDs(t)
	last := 0
	k.kill(t, 10, 30*time.Second, func(round int) []string {
		last = round
		return moves[round%len(moves)]
	})
	for _, move := range moves[min(last+1, len(moves)):] {
		s.tidb(t, 0, move...)
	}
	s.wantMembers(t, want, release{all: from})
	after := s.claimUIDs(t)
	for name, uid := range before {
		if after[name] == uid || after[name] == "" {
			t.Errorf("%s is the claim %q, and was %q", name, after[name], uid)
		}
	}
	s.wantRows(t, db, writer, "moved")
}

// moves returns commands that move the members of each component to other disks, and then the stores back. The cluster
// has as many stores as each region has copies, so that a further store serves while a store moves.
func moves(there, back string) (all [][]string) {
	replace := func(component, class string, more ...string) {
		all = append(all, append([]string{"replace", cluster, "--all-of", component, "--storage-class", class, "--yes"}, more...))
	}
	replace("tikv", there, "--spare")
	replace("pd", there)
	replace("tiflash", there)
	replace("tikv", back, "--spare")
	return all
}
