package pd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// voterAnswers is how long one member may take to answer for itself: it answers from memory. One that takes longer
// counts as silent, which proves nothing.
const voterAnswers = 2 * time.Second

// Voter is one voter of PD's etcd. The members that answer list the voter, and Raft is what the voter says itself.
type Voter struct {
	// Name is empty for a member that was added and has not started.
	Name                 string
	ID                   uint64
	PeerURLs, ClientURLs []string
	// Raft is nil if the member did not answer.
	Raft *Raft
	// Refused: its pod runs, and nothing listens on its port.
	Refused bool
}

// Voters implements Client.
func (c *client) Voters(ctx context.Context) ([]Voter, error) {
	start := time.Now()
	p := &poll{c: c, asked: map[string]bool{}, refused: map[string]bool{}, rafts: map[uint64]Raft{}, listed: map[uint64]Voter{}}
	p.round(ctx, c.urls())
	var more []string // such as those in other Kubernetes clusters, or by other names of the same hosts
	for _, v := range p.listed {
		more = append(more, trimmed(v.ClientURLs)...)
	}
	p.round(ctx, more)
	p.round(ctx, p.membersBehind()) // what was committed before they were asked again, they may have applied now
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, fmt.Errorf("ask PD's members for their parts in its quorum: %w", ctx.Err())
	case len(p.rafts) == 0:
		return nil, &UnavailableError{Op: "ask PD's members for their parts in its quorum", Kind: ErrUnreachable, Waited: time.Since(start), Last: p.silent()}
	}
	return p.voters(), nil
}

// SilentError reports that no member has answered for itself. On the ports of Refused, which are hosts with ports,
// nothing listens; the others may serve.
type SilentError struct {
	Refused []string
	Err     error
}

// Error returns what the members' connections failed with.
func (e *SilentError) Error() string { return e.Err.Error() }

// Unwrap returns the causes.
func (e *SilentError) Unwrap() error { return e.Err }

func (p *poll) silent() error {
	e := &SilentError{Err: errors.Join(p.errs...)}
	if len(p.errs) == 0 {
		e.Err = errors.New("no member is known")
	}
	for host, refused := range p.refused {
		if refused {
			e.Refused = append(e.Refused, host)
		}
	}
	return e
}

// poll asks each member what the member knows itself.
type poll struct {
	c *client

	mu      sync.Mutex
	asked   map[string]bool // hosts
	refused map[string]bool // hosts
	rafts   map[uint64]Raft
	urls    map[uint64]string
	listed  map[uint64]Voter
	errs    []error
}

// round asks members at the same time.
func (p *poll) round(ctx context.Context, urls []string) {
	var all sync.WaitGroup
	for _, url := range urls {
		if p.asked[hostOf(url)] {
			continue
		}
		p.asked[hostOf(url)] = true
		all.Go(func() { p.ask(ctx, url) })
	}
	all.Wait()
}

func (p *poll) ask(ctx context.Context, url string) {
	ctx, cancel := context.WithTimeout(ctx, voterAnswers)
	defer cancel()
	raft, err := AskRaft(ctx, p.c.hc, url)
	var list []Voter
	if err == nil {
		list, err = askVoters(ctx, p.c.hc, url)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.errs = append(p.errs, err)
		p.refused[hostOf(url)] = errors.Is(err, dial.Refused)
		return
	}
	if p.urls == nil {
		p.urls = map[uint64]string{}
	}
	p.rafts[raft.Member], p.urls[raft.Member] = raft, url
	for _, v := range list {
		if old, known := p.listed[v.ID]; !known || old.Name == "" {
			p.listed[v.ID] = v
		}
	}
}

// membersBehind returns the members that had not applied what another member knew to be committed. It
// lets these members be asked again.
func (p *poll) membersBehind() []string {
	var urls []string
	committed := p.committed()
	for id, r := range p.rafts {
		if r.Applied < committed {
			urls = append(urls, p.urls[id])
			delete(p.asked, hostOf(p.urls[id]))
		}
	}
	return urls
}

// committed is the last entry of the log of which a member that answers knows that a majority has it.
func (p *poll) committed() uint64 {
	var last uint64
	for _, r := range p.rafts {
		last = max(last, r.Committed)
	}
	return last
}

// voters joins what is listed with what each member says. A member that lists voters which other members do not list
// knows an older or a newer membership. All of these voters count, so that silent ones are rather too many.
func (p *poll) voters() []Voter {
	all := make([]Voter, 0, len(p.listed))
	for id, v := range p.listed {
		if r, ok := p.rafts[id]; ok {
			v.Raft = &r
		}
		v.Refused = v.Raft == nil && slices.ContainsFunc(v.ClientURLs, func(url string) bool { return p.refused[hostOf(url)] })
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b Voter) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func trimmed(urls []string) []string {
	all := make([]string, len(urls))
	for i, u := range urls {
		all[i] = strings.TrimRight(u, "/")
	}
	return all
}

// askVoters asks one member which voters it knows. It answers from memory, with or without a leader.
func askVoters(ctx context.Context, client *http.Client, url string) ([]Voter, error) {
	req, err := request{method: http.MethodPost, path: "/v3/cluster/member/list", body: struct{}{}}.build(ctx, url)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Members []struct {
			ID         uint64   `json:"ID,string"`
			Name       string   `json:"name"`
			PeerURLs   []string `json:"peerURLs"`
			ClientURLs []string `json:"clientURLs"`
			IsLearner  bool     `json:"isLearner"` // it does not vote
		} `json:"members"`
	}
	if err := readResponse(resp, &answer); err != nil {
		return nil, err
	}
	var voters []Voter
	for _, m := range answer.Members {
		if !m.IsLearner {
			voters = append(voters, Voter{Name: m.Name, ID: m.ID, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs})
		}
	}
	return voters, nil
}
