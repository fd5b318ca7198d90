package pd

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// inGroup runs a test with a PD group of three and a client of it. The bubble fails the test when a goroutine is left.
func inGroup(t *testing.T, change func(*Config), f func(t *testing.T, g *group, c Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 3)
		c := g.client(change)
		f(t, g, c)
		c.Close()
		g.close()
	})
}

func TestLeaderKilled(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		if _, err := c.ServerVersion(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.kill(0)
		g.elect(2, 12*time.Second)
		start := time.Now()
		if _, err := c.ServerVersion(t.Context()); err != nil {
			t.Fatalf("after %v: %v", time.Since(start), err)
		}
		if d := time.Since(start); d < 12*time.Second || d > 13500*time.Millisecond {
			t.Errorf("answered %v after the leader was killed, want 12 s to 13.5 s", d)
		}
	})
}

func TestLeaderHangs(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		if _, err := c.ServerVersion(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.set(func() { g.members[hostName(0)].hung = true })
		g.elect(1, 4*time.Second)
		start := time.Now()
		if _, err := c.ServerVersion(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d > DefaultAttempt+2*time.Second {
			t.Errorf("answered after %v, want one attempt and a search", d)
		}
	})
}

func TestHungFollowerDoesNotHoldUpTheSearch(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.set(func() { g.members[hostName(2)].hung = true })
		start := time.Now()
		if l, err := c.Leader(t.Context()); err != nil || l.Name != "pd-0" {
			t.Fatalf("Leader() = %v, %v", l, err)
		}
		if d := time.Since(start); d > 0 {
			t.Errorf("found after %v, want at once", d)
		}
	})
}

func TestHungFollowerDoesNotHideTheNewLeader(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.set(func() { g.members[hostName(2)].hung, g.leader = true, "" })
		g.elect(1, 2*time.Second)
		start := time.Now()
		if _, err := c.Leader(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d > 2*time.Second+stragglers+longPause {
			t.Errorf("found after %v", d)
		}
	})
}

func TestUnreachable(t *testing.T) {
	tests := map[string]struct {
		timeout time.Duration
		budget  time.Duration
		want    time.Duration
	}{
		"short context":   {timeout: 2 * time.Second, want: 0},
		"short budget":    {budget: 2 * time.Second, want: 0},
		"default budget":  {want: DefaultBudget},
		"longer deadline": {timeout: 20 * time.Second, want: 20 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inGroup(t, func(c *Config) { c.Budget = test.budget }, func(t *testing.T, g *group, c Client) {
				for i := range 3 {
					g.kill(i)
				}
				ctx := t.Context()
				if test.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.timeout)
					defer cancel()
				}
				start := time.Now()
				_, err := c.Members(ctx)
				if !errors.Is(err, ErrUnreachable) || !errors.Is(err, errRefused) {
					t.Errorf("error %v, want ErrUnreachable with its cause", err)
				}
				if isOneOf(err, ErrNoLeader, ErrRefused, ErrNotBootstrapped) {
					t.Errorf("error %v is of a second kind", err)
				}
				if d := time.Since(start); d > test.want || d < test.want-2*longPause {
					t.Errorf("gave up after %v, want %v", d, test.want)
				}
			})
		})
	}
}

func TestCachedLeaderDiesInAShortCall(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		if _, err := c.ServerVersion(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.kill(0)
		g.set(func() { g.leader = hostName(1) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.ServerVersion(ctx); err != nil {
			t.Errorf("there is another leader, but: %v", err)
		}
	})
}

type forbidden struct{}

func (forbidden) Error() string   { return "pods/portforward is forbidden" }
func (forbidden) Permanent() bool { return true }

func TestPermanentDialErrorEndsTheCall(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.set(func() { g.dialErr = forbidden{} })
		start := time.Now()
		_, err := c.Stores(t.Context())
		if !errors.Is(err, ErrUnreachable) || !errors.Is(err, forbidden{}) || time.Since(start) > 0 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestNoLeader(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.set(func() { g.leader = "" })
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := c.ServerVersion(ctx)
		var un *UnavailableError
		if !errors.As(err, &un) || !errors.Is(un.Kind, ErrNoLeader) || isOneOf(err, ErrUnreachable, ErrRefused) {
			t.Errorf("error %v, want ErrNoLeader alone", err)
		}
	})
}

// The answer of a proxy in front of PD says nothing about PD. It must not count as "no leader":
// then PD's members may be restarted after a while.
func TestAnswerOfProxyIsNoEvidence(t *testing.T) {
	for _, code := range []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout} {
		inGroup(t, nil, func(t *testing.T, g *group, c Client) {
			g.set(func() { g.proxy = code })
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			_, err := c.ServerVersion(ctx)
			if !errors.Is(err, ErrUnreachable) || isOneOf(err, ErrNoLeader, ErrRefused) {
				t.Errorf("%d: error %v, want ErrUnreachable alone", code, err)
			}
			g.set(func() { g.proxy = 0 })
			if _, err := c.ServerVersion(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A proxy answers instead of a leader that is known already.
func TestProxyBeforeKnownLeader(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		if _, err := c.ServerVersion(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.set(func() { g.proxy = http.StatusBadGateway })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/10)
		defer cancel()
		if _, err := c.ServerVersion(ctx); !errors.Is(err, ErrUnreachable) || isOneOf(err, ErrNoLeader, ErrRefused) {
			t.Errorf("error %v, want ErrUnreachable alone", err)
		}
	})
}

// A new group answers in these two ways, member by member, until it has elected a leader.
func TestGroupThatStarts(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.set(func() {
			g.leader = ""
			g.starting = map[string]string{hostName(0): "{}", hostName(1): "", hostName(2): ""}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		_, err := c.Leader(ctx)
		if !errors.Is(err, ErrNoLeader) || isOneOf(err, ErrRefused, ErrNotFound, ErrUnreachable) {
			t.Errorf("error %v, want ErrNoLeader alone", err)
		}
		time.AfterFunc(3*time.Second, func() { g.set(func() { g.starting, g.leader = nil, hostName(1) }) })
		if _, err := c.ServerVersion(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestShortGapWithoutLeaderIsAbsorbed(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.set(func() { g.leader = "" })
		g.elect(1, 600*time.Millisecond) // as measured after a transfer
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := c.ServerVersion(ctx); err != nil {
			t.Error(err)
		}
	})
}

func TestCancelled(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.set(func() { g.leader = "" })
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Second, cancel)
		_, err := c.Stores(ctx)
		var un *UnavailableError
		if !errors.Is(err, context.Canceled) || errors.As(err, &un) {
			t.Errorf("error %v, want context.Canceled and no verdict on PD", err)
		}
	})
}

// Without this package the library sends such a write to every member, and returns the answer of
// the last follower.
func TestRefusalIsTheLeadersAndSentOnce(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		for _, code := range []int{400, 404, 410, 500} {
			g.fail("DELETE /pd/api/v1/store/4", code, `"store 4 is special"`)
			before := g.count("DELETE ")
			err := c.DeleteStore(t.Context(), 4)
			if code == http.StatusGone {
				if err != nil {
					t.Errorf("a tombstone is not deleted: %v", err)
				}
			} else {
				var status *StatusError
				if !errors.As(err, &status) || status.Code != code || status.Message != "store 4 is special" {
					t.Errorf("%d: error %v", code, err)
				}
				if !errors.Is(err, ErrRefused) || errors.Is(err, ErrNotFound) != (code == 404) {
					t.Errorf("%d: error %v is of the wrong kind", code, err)
				}
			}
			if n := g.count("DELETE ") - before; n != 1 {
				t.Errorf("%d: %d requests, want 1", code, n)
			}
		}
	})
}

func TestSeedsMayBeAServiceOrOutdated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 3)
		defer g.close()
		g.set(func() { g.members["pd.ns.svc:2379"] = g.members[hostName(1)] })
		c := g.client(func(cfg *Config) { cfg.URLs = []string{"http://pd.ns.svc:2379/"} })
		defer c.Close()
		if l, err := c.Leader(t.Context()); err != nil || l.Name != "pd-0" {
			t.Errorf("Leader() = %v, %v", l, err)
		}
		g.set(func() { delete(g.members, "pd.ns.svc:2379") })
	})
}

func TestConnectionsAreReused(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		if _, err := c.ServerVersion(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		searched := g.dials
		for range 50 {
			if _, err := c.ServerVersion(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := g.dials - searched; n > 1 {
			t.Errorf("%d connections for 50 reads, want at most 1", n)
		}
		if n := g.count("GET /pd/api/v1/version"); n != 51 {
			t.Errorf("%d requests for 51 reads", n)
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.answer("GET /pd/api/v1/members", `{"members":[{"name":"pd-0","client_urls":["http://`+hostName(0)+`"]}]}`)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := c.Members(t.Context()); err != nil {
					t.Error(err)
				}
				if _, err := c.Leader(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		g.set(func() { g.leader = hostName(2) })
		wg.Wait()
	})
}
