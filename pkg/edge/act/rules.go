package act

import (
	"context"
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/ledger"
)

// enableRules has PD place copies by its placement rules. The record is written afterwards. It says that PD had
// placement rules enabled, so that a person must have disabled rules that are disabled later. If this process ends
// in between, there is no record, and the rules are enabled once more at most.
func (a *Actor) enableRules(ctx context.Context) error {
	client, err := a.database()
	if err != nil {
		return err
	}
	config, err := client.ReplicationConfig(ctx)
	if err != nil {
		return fmt.Errorf("read whether placement rules are enabled: %w", err)
	}
	if config.EnablePlacementRules {
		return nil
	}
	book, err := a.ledger(ctx)
	if err != nil {
		return err
	}
	if !ledger.Read(book).RulesEnabled.IsZero() {
		return stale("PD", "had its placement rules enabled before, and they were disabled since")
	}
	// PD takes this value only as a text.
	if err := client.SetReplicationConfig(ctx, map[string]any{"enable-placement-rules": "true"}); err != nil {
		return fmt.Errorf("enable placement rules: %w", err)
	}
	cluster, err := client.ClusterID(ctx)
	if err != nil {
		return fmt.Errorf("read the cluster id of PD: %w", err)
	}
	return a.writeRecord(ctx, book, ledger.RulesKey, ledger.EncodeRules(a.now(), cluster))
}
