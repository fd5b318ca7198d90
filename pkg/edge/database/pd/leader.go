package pd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ask"
)

// stragglers is how much later than the first one a member may answer in a search for the leader. A member that hangs
// must not delay the search: the others elect a new leader meanwhile.
const stragglers = time.Second

// lostError reports that no member has confirmed that it leads.
type lostError struct {
	kind error // ErrUnreachable, ErrLeaderUnreachable or ErrNoLeader
	// permanent is true if every member failed with a permanent error, such as a missing permission.
	permanent bool
	errs      []error
	leader    *LeaderError // with ErrLeaderUnreachable
}

func (e *lostError) Error() string {
	if len(e.errs) == 0 {
		return "no member is known"
	}
	texts := make([]string, len(e.errs))
	for i, err := range e.errs {
		texts[i] = err.Error()
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), "; ")
}

// Unwrap leaves out the answers of PD: a follower's refusal in the search is not a refusal of the call.
func (e *lostError) Unwrap() []error {
	all := slices.DeleteFunc(slices.Clone(e.errs), func(err error) bool {
		var status *StatusError
		return errors.As(err, &status)
	})
	if e.leader != nil {
		all = append(all, e.leader)
	}
	return all
}

// leaderMember returns the member that last confirmed that it leads, or searches for one. If the leader has changed
// since, the former one forwards the request.
func (c *client) leaderMember(ctx context.Context) (member, error) {
	c.mu.Lock()
	url := c.leader
	c.mu.Unlock()
	if url != "" {
		return c.member(url), nil
	}
	m, _, err := c.findLeader(ctx)
	return m, err
}

func (c *client) forget(url string) {
	c.mu.Lock()
	if c.leader == url {
		c.leader = ""
	}
	c.mu.Unlock()
}

func (c *client) remember(url string) {
	c.mu.Lock()
	c.leader = url
	c.mu.Unlock()
}

// findLeader asks all members at the same time who leads, and returns the one that names itself. The others may name
// a leader that died seconds ago, and a request that a follower forwards hangs when the leader hangs. So each member
// is asked only for what it has in memory.
func (c *client) findLeader(ctx context.Context) (member, *memberInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, c.attempt)
	s := &search{
		c: c, ctx: ctx, asked: map[string]bool{}, answers: make(chan answer), said: map[string]bool{}, silent: map[string]error{},
	}
	defer func() {
		cancel()
		for ; s.pending > 0; s.pending-- { // the goroutines end with their context; leave none behind
			<-s.answers
		}
	}()
	s.ask(c.urls()...)
	var grace <-chan time.Time
	for s.pending > 0 {
		select {
		case a := <-s.answers:
			s.pending--
			if s.take(a) {
				c.remember(a.url)
				return c.member(a.url), a.leader, nil
			}
			if grace == nil && len(s.said) > 0 {
				grace = time.After(stragglers)
			}
		case <-grace:
			return s.end()
		}
	}
	return s.end()
}

// end ends a search in which no member has confirmed that it leads.
func (s *search) end() (member, *memberInfo, error) {
	if m, leader, ok := s.relay(); ok {
		return m, leader, nil
	}
	return member{}, nil, s.lost()
}

// search is one search for the leader.
type search struct {
	c       *client
	ctx     context.Context
	asked   map[string]bool
	answers chan answer
	pending int
	said    map[string]bool  // hosts of members that have answered, whatever they said
	silent  map[string]error // hosts that could not be asked
	named   []naming         // leaders, by other members
	errs    []error
	stuck   int // how many of errs are permanent
}

type answer struct {
	url    string
	leader *memberInfo
	err    error
}

func (s *search) ask(urls ...string) {
	for _, url := range urls {
		if s.asked[hostOf(url)] {
			continue
		}
		s.asked[hostOf(url)] = true
		s.pending++
		go func() {
			var leader memberInfo
			err := s.c.member(url).raw(s.ctx, request{
				method: http.MethodGet, path: pathLeader, out: &leader, local: true,
			})
			s.answers <- answer{url: url, leader: &leader, err: err}
		}()
	}
}

// take reports whether the answer settles the search. A leader that was not asked yet is asked next. The seed may be
// a service, or write the name of a member in another way.
func (s *search) take(a answer) bool {
	if a.err != nil {
		s.fail(a)
		return false
	}
	s.said[hostOf(a.url)] = true
	for _, url := range a.leader.ClientURLs {
		if hostOf(url) == hostOf(a.url) {
			return true
		}
	}
	if a.leader.Name == "" { // a member that has just started answers so
		s.errs = append(s.errs, fmt.Errorf("%s knows no leader", a.url))
		return false
	}
	s.named = append(s.named, naming{a.url, a.leader})
	s.errs = append(s.errs, fmt.Errorf("%s says that the leader is %q, which does not confirm it",
		a.url, ask.Words(a.leader.Name)))
	s.ask(addresses(a.leader.ClientURLs)...)
	return false
}

// fail notes an error. An answer that is an error is an answer; an answer of a proxy before PD is none.
func (s *search) fail(a answer) {
	var status *StatusError
	var fixed interface{ Permanent() bool }
	switch {
	case errors.As(a.err, &status) && !status.fromProxy():
		s.said[hostOf(a.url)] = true
	default:
		s.silent[hostOf(a.url)] = a.err
		if errors.As(a.err, &fixed) && fixed.Permanent() {
			s.stuck++
		}
	}
	s.errs = append(s.errs, a.err)
}

// lost says why no leader was found. A leader that members name, and that could not be asked, may serve everybody else.
func (s *search) lost() error {
	if len(s.said) == 0 {
		return &lostError{kind: ErrUnreachable, errs: s.errs, permanent: len(s.errs) > 0 && s.stuck == len(s.errs)}
	}
	for _, n := range s.named {
		leader := n.leader
		if why := s.unasked(leader); why != nil {
			return &lostError{kind: ErrLeaderUnreachable, errs: s.errs, leader: &LeaderError{Name: leader.Name, Err: why}}
		}
	}
	return &lostError{kind: ErrNoLeader, errs: s.errs}
}

// unasked returns why a member has not answered, nil if it has.
func (s *search) unasked(m *memberInfo) error {
	why := errors.New("it has not answered in time")
	for _, url := range m.ClientURLs {
		if s.said[hostOf(url)] {
			return nil
		}
		if err := s.silent[hostOf(url)]; err != nil && s.ctx.Err() == nil {
			why = err
		}
	}
	return why
}
