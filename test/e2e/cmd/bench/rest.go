package main

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// rest waits, outside of what is measured, until PD has heard from every store: users do not scale in a
// second after they have scaled out, and before any store leaves, PD has to have heard of all.
func (t target) rest(ctx context.Context, client pd.Client) error {
	err := wait.PollUntilContextTimeout(ctx, look, patience, true, func(ctx context.Context) (bool, error) {
		stores, err := client.Stores(ctx, pd.StoreUp)
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(stores, func(s pd.Store) bool { return !s.Healthy() }), nil
	})
	if err != nil {
		return fmt.Errorf("wait until PD has heard from every store: %w", err)
	}
	return nil
}
