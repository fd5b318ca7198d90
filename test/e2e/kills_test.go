package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/workload"
)

// TestKills: kill -9 at fifty random moments of an upgrade, of scaling and of an eviction of leaders.
// Each time the same command goes on; at the end the cluster has converged, with all rows. After one
// more kill, in the middle of an eviction, "doctor --fix" leaves nothing of ours in PD.
func TestKills(t *testing.T) {
	t.Parallel()
	s := newEnvironment(t, "e2e-kills")
	s.tidb(t, 0, "create", cluster, "--version", from, "--storage", "1Gi", "--tikv", "4")
	db, err := s.sql.Open("kills")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	writer, err := workload.Start(context.WithoutCancel(t.Context()), db, "kills", 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	k := killer{environment: s, rng: rand.New(rand.NewPCG(seed, 0))}
	k.kill(t, 25, 4*time.Second, func(round int) []string {
		if round > 0 { // it was over: all pods once more
			s.patchCluster(t, fmt.Sprintf(`{"spec":{"pd":{"annotations":{"e2e":"%d"}},"tikv":{"annotations":{"e2e":"%d"}}}}`, round, round))
		}
		return []string{"upgrade", cluster, to}
	})
	k.kill(t, 15, 2*time.Second, func(round int) []string {
		return []string{"scale", cluster, fmt.Sprint("tikv=", 3+round%2)}
	})
	s.tidb(t, 0, "scale", cluster, "tikv=3")
	k.kill(t, 10, time.Second, func(round int) []string {
		if round > 0 {
			s.tidb(t, 0, "evict-leader", cluster, "tikv-1", "--stop")
		}
		return []string{"evict-leader", cluster, "tikv-1"}
	})
	s.tidb(t, 0, "evict-leader", cluster, "tikv-1", "--stop")
	s.wantConverged(t, 3, 3, 2, to)
	account := writer.Stop()
	t.Log("the client's account:", account, account.Stalls)
	s.slow.client("kills", account)
	if err := account.Verify(t.Context(), db, "kills"); err != nil {
		t.Error(err)
	}
	t.Run("doctor --fix", s.mendedAfterKill)
}

// killer kills commands at random moments.
type killer struct {
	environment
	rng *rand.Rand
}

// kill has n runs of a command killed, each before some time is over, and then lets it end. Where it
// ends before it is killed, the next round is another command: again is asked for that.
func (k *killer) kill(t *testing.T, n int, within time.Duration, again func(round int) []string) {
	t.Helper()
	args, round := again(0), 0
	for kills := 0; kills < n; {
		switch code := k.strike(t, time.Duration(k.rng.Int64N(int64(within))), args); code {
		case -1:
			kills++
		case 0:
			round++
			args = again(round)
		default:
			t.Fatalf("kubectl tidb %v: exit code %d after %d kills", args, code, kills)
		}
	}
	k.tidb(t, 0, args...)
	t.Logf("kubectl tidb %v: %d kills, and %d times it was over before", args, n, round)
}

// strike runs a command and kills it after some time. It returns the exit code, -1 where it was killed.
func (k *killer) strike(t *testing.T, after time.Duration, args []string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	run := k.plugin.Start(ctx, append(slices.Clone(args), "-o", "json")...)
	defer run.Close()
	stop := time.AfterFunc(after, func() { _ = run.Signal(syscall.SIGKILL) })
	defer stop.Stop()
	last := "nothing yet"
	for e, err := range run.Events() {
		if err != nil {
			break // a line that was cut in two
		}
		if e.Step != "" {
			last = fmt.Sprint(e.Type, ": ", e.Step)
		}
	}
	code := run.Wait()
	if code == -1 {
		t.Logf("%v is killed after %v, at %s", args, after.Round(time.Millisecond), last)
	}
	return code
}

// mendedAfterKill kills a run while leaders leave a store, and mends that. A scheduler that a person
// has made stays.
func (s environment) mendedAfterKill(t *testing.T) {
	p := s.person(t)
	theirs := p.store(t, cluster+"-tikv-0").ID
	p.do(t, http.MethodPost, "schedulers", map[string]any{"name": "evict-leader-scheduler", "store_id": theirs})
	s.patchCluster(t, `{"spec":{"tikv":{"annotations":{"e2e":"doctor"}}}}`)
	if code := s.until(t, syscall.SIGKILL, func(e event.Event) bool {
		return e.Type == event.Finished && e.Action == "EvictLeaders"
	}, "sync", cluster); code != -1 {
		t.Fatalf("exit code %d, want a run that is killed", code)
	}
	if n := len(p.evicting(t)); n != 2 {
		t.Fatalf("PD evicts leaders from %d stores, want 2: that of the killed run and the person's", n)
	}
	r := s.plugin.Run(t.Context(), nil, "doctor", cluster, "--fix", "--yes")
	t.Logf("doctor --fix: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	if !strings.Contains(r.Stdout, "done: allow region leaders on ") {
		t.Error("doctor --fix does not say that it has removed the scheduler")
	}
	if stores := p.evicting(t); !slices.Equal(stores, []uint64{theirs}) {
		t.Errorf("PD evicts leaders from stores %v, want only %d, as the person has asked", stores, theirs)
	}
	p.do(t, http.MethodDelete, fmt.Sprint("schedulers/evict-leader-scheduler-", theirs), nil)
	s.wantNothingOfOurs(t)
	s.tidb(t, 0, "sync", cluster)
	s.wantConverged(t, 3, 3, 2, to)
}
