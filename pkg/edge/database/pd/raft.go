package pd

import (
	"context"
	"fmt"
	"net/http"
)

// Raft is what one member of PD says about its part in PD's quorum. The indexes count entries of the log that all
// members share.
type Raft struct {
	Member uint64 // its own id
	Leader uint64 // the id of the member that leads the log, 0 while it hears from none
	// Committed is the last entry of which the member knows that a majority has it. Applied is the last entry that
	// the member has applied.
	Committed, Applied uint64
}

// AskRaft asks one member for its part in the quorum, through the HTTP gateway of the member's etcd. PD's health
// check may miss a member for a while, for example while another one has an old address for its name. This is a
// report of the member itself.
func AskRaft(ctx context.Context, client *http.Client, url string) (Raft, error) {
	op := fmt.Sprintf("ask PD member %s for its raft status", url)
	req, err := request{method: http.MethodPost, path: "/v3/maintenance/status", body: struct{}{}}.build(ctx, url)
	if err != nil {
		return Raft{}, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return Raft{}, fmt.Errorf("%s: %w", op, err)
	}
	var answer struct {
		Header struct {
			MemberID uint64 `json:"member_id,string"`
		} `json:"header"`
		Leader    uint64 `json:"leader,string"`
		Committed uint64 `json:"raftIndex,string"`
		Applied   uint64 `json:"raftAppliedIndex,string"`
	}
	if err := readResponse(resp, &answer); err != nil {
		return Raft{}, fmt.Errorf("%s: %w", op, err)
	}
	return Raft{Member: answer.Header.MemberID, Leader: answer.Leader, Committed: answer.Committed, Applied: answer.Applied}, nil
}
