package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/workload"
)

// moveLeader asks PD to make the next member its leader, and returns when that one leads.
func moveLeader(ctx context.Context, client pd.Client) (bareMove, error) {
	leader, err := client.Leader(ctx)
	if err != nil {
		return bareMove{}, err
	}
	members, err := client.Health(ctx)
	if err != nil {
		return bareMove{}, err
	}
	var names []string
	for _, m := range members {
		if m.Healthy {
			names = append(names, m.Name)
		}
	}
	if len(names) < 2 {
		return bareMove{}, fmt.Errorf("PD has no second healthy member: %v", names)
	}
	slices.Sort(names)
	move := bareMove{from: leader.Name, to: after(names, leader.Name)}
	begun := time.Now()
	err = client.TransferLeader(ctx, move.to)
	move.took = time.Since(begun)
	return move, err
}

// moves moves PD's leader three times without the plugin, each time with a client that writes.
func (t target) moves(ctx context.Context, client pd.Client) (all []bareMove, err error) {
	db, err := t.sql.Open(t.plugin.Namespace + "-moves")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	for range 3 {
		writer, err := workload.Start(ctx, db, movesTable, interval)
		if err != nil {
			return nil, err
		}
		move, err := moveLeader(ctx, client)
		if err == nil {
			settled := writer.Now().Written + 20
			err = wait.PollUntilContextTimeout(ctx, look, patience, true, func(context.Context) (bool, error) {
				return writer.Now().Written >= settled, nil
			})
		}
		move.account = writer.Stop()
		if err != nil {
			return nil, fmt.Errorf("move PD's leader without the plugin: %w; the client: %s", err, move.account)
		}
		all = append(all, move)
	}
	return all, nil
}

// after returns the name that follows another one in a list, which begins again at its end.
func after(names []string, name string) string {
	return names[(slices.Index(names, name)+1)%len(names)]
}
