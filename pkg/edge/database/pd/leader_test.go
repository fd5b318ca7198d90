package pd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// hangs is the error of a dial that ends with its context.
type hangs struct{}

func (hangs) Error() string { return "hangs" }

// TestLeaderCannotBeAsked: a leader that followers name and that cannot be asked may serve everybody else, whatever the
// cause is. Without one, PD has no leader as far as its members say.
func TestLeaderCannotBeAsked(t *testing.T) {
	for name, c := range map[string]struct {
		dial error // of the leader
		set  func(*group)
		want error
		why  string // the cause
	}{
		"the tunnel fails":                {dial: errors.New("error dialing backend: No agent available"), want: ErrLeaderUnreachable, why: "No agent available"},
		"the tunnel hangs":                {dial: hangs{}, want: ErrLeaderUnreachable, why: "not answered in time"},
		"it does not accept us":           {dial: tls.AlertError(42), want: ErrLeaderUnreachable, why: "bad certificate"},
		"its port refuses the connection": {dial: dial.Refused, want: ErrLeaderUnreachable, why: "refused"},
		"it is slower than the others":    {set: func(g *group) { g.members[hostName(0)].hung = true }, want: ErrLeaderUnreachable, why: "not answered in time"},
		"one of the others names it":      {dial: errors.New("lost"), set: func(g *group) { g.dialErrs[hostName(1)] = errors.New("lost") }, want: ErrLeaderUnreachable},
		"nobody answers":                  {dial: errors.New("lost"), set: func(g *group) { g.dialErr = errors.New("lost") }, want: ErrUnreachable},
		"it does not lead any more":       {set: func(g *group) { g.leader, g.members[hostName(1)].believes = "", hostName(0) }, want: ErrNoLeader},
		"the others know none":            {dial: errors.New("lost"), set: func(g *group) { g.leader = "" }, want: ErrNoLeader},
		"one that starts is the only one": {dial: errors.New("lost"), set: func(g *group) {
			g.dialErrs[hostName(1)], g.starting = errors.New("lost"), map[string]string{hostName(2): "{}"}
		}, want: ErrNoLeader},
	} {
		t.Run(name, func(t *testing.T) {
			inGroup(t, nil, func(t *testing.T, g *group, _ Client) {
				g.set(func() {
					g.dialErrs = map[string]error{hostName(0): c.dial}
					if c.set != nil {
						c.set(g)
					}
				})
				client := g.client(func(cfg *Config) {
					cfg.Dial = func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
						if conn, err = g.dial(ctx, network, addr); errors.Is(err, hangs{}) {
							<-ctx.Done()
						}
						return conn, err
					}
				})
				defer client.Close()
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
				defer cancel()
				_, err := client.Members(ctx)
				for _, kind := range []error{ErrLeaderUnreachable, ErrNoLeader, ErrUnreachable} {
					if want := errors.Is(c.want, kind); errors.Is(err, kind) != want {
						t.Errorf("%v: is %q: %t", err, kind, !want)
					}
				}
				var leader *LeaderError
				if named := errors.As(err, &leader); named != errors.Is(c.want, ErrLeaderUnreachable) || named && (leader.Name != "pd-0" || !strings.Contains(leader.Error(), c.why)) {
					t.Errorf("%v: names %v", err, leader)
				}
			})
		})
	}
}

// TestVoters: each member says for itself whom it follows; those that say nothing are listed by the others.
func TestVoters(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*group)
		want string // for each voter the member that it follows and, where it lags, how much it has applied
	}{
		"all follow one":             {func(*group) {}, "pd-0 pd-0 pd-0"},
		"the leader is out of reach": {func(g *group) { g.dialErrs = map[string]error{hostName(0): errors.New("lost")} }, "silent pd-0 pd-0"},
		"nothing listens on one":     {func(g *group) { g.dialErrs = map[string]error{hostName(1): dial.Refused} }, "pd-0 refused pd-0"},
		"one hangs":                  {func(g *group) { g.members[hostName(2)].hung = true }, "pd-0 pd-0 silent"},
		"one hears of no leader":     {func(g *group) { g.follows = map[string]string{hostName(2): ""} }, "pd-0 pd-0 none"},
		"there is none":              {func(g *group) { g.leader = "" }, "none none none"},
		"one lags":                   {func(g *group) { g.applied = map[string]uint64{hostName(1): 90} }, "pd-0 pd-0/90 pd-0"},
		"the API is starting":        {func(g *group) { g.starting = map[string]string{hostName(1): ""} }, "pd-0 pd-0 pd-0"},
		"its etcd does not answer": {func(g *group) {
			g.routes["POST /v3/cluster/member/list"] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inGroup(t, nil, func(t *testing.T, g *group, client Client) {
				g.set(func() { c.set(g) })
				voters, err := client.Voters(t.Context())
				if c.want == "" {
					if !errors.Is(err, ErrUnreachable) {
						t.Errorf("%+v, %v", voters, err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, v := range voters {
					got = append(got, v.says(voters))
				}
				if s := strings.Join(got, " "); s != c.want {
					t.Errorf("got %s, want %s", s, c.want)
				}
			})
		})
	}
}

// says is what a voter says, in one word.
func (v Voter) says(all []Voter) string {
	switch {
	case v.Refused:
		return "refused"
	case v.Raft == nil:
		return "silent"
	case v.Raft.Leader == 0:
		return "none"
	}
	for _, o := range all {
		if o.ID != v.Raft.Leader {
			continue
		}
		if v.Raft.Applied < 100 {
			return fmt.Sprintf("%s/%d", o.Name, v.Raft.Applied)
		}
		return o.Name
	}
	return "another"
}

// TestVoterThatLagsIsAskedAgain: what a member had not applied when it was asked first, it may have applied a moment
// later.
func TestVoterThatLagsIsAskedAgain(t *testing.T) {
	inGroup(t, nil, func(t *testing.T, g *group, c Client) {
		g.set(func() { g.applied = map[string]uint64{hostName(1): 90} })
		if _, err := c.Voters(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, want := range []int{1, 2, 1} {
			n := 0
			for _, r := range g.members[hostName(i)].requests {
				if r == "POST /v3/maintenance/status" {
					n++
				}
			}
			if n != want {
				t.Errorf("pd-%d was asked %d times", i, n)
			}
		}
	})
}
