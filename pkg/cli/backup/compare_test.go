package backup

import (
	"slices"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tidb"
)

func TestDifferences(t *testing.T) {
	users, orders := tidb.Table{Database: "app", Name: "users"}, tidb.Table{Database: "app", Name: "orders"}
	was := sums{users: {Rows: 2, Sum: "7"}, orders: {Rows: 1, Sum: "3"}}
	for name, c := range map[string]struct {
		restored sums
		want     []string
	}{
		"equal":        {sums{users: {Rows: 2, Sum: "7"}, orders: {Rows: 1, Sum: "3"}}, nil},
		"a row less":   {sums{users: {Rows: 1, Sum: "7"}, orders: {Rows: 1, Sum: "3"}}, []string{"table app.users had 2 rows, and 1 were restored"}},
		"other values": {sums{users: {Rows: 2, Sum: "8"}, orders: {Rows: 1, Sum: "3"}}, []string{"table app.users has other values"}},
		"no table":     {sums{users: {Rows: 2, Sum: "7"}}, []string{"table app.orders was not restored"}},
		"one more": {sums{users: {Rows: 2, Sum: "7"}, orders: {Rows: 1, Sum: "3"}, {Database: "x", Name: "y"}: {}},
			[]string{"table x.y was restored, and the cluster did not show it"}},
	} {
		if got := was.differences(c.restored); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if was.rows() != 3 {
		t.Errorf("%d rows", was.rows())
	}
}
