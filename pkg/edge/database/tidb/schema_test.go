package tidb

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHolds: databases of TiDB and of BR itself do not count, and what cannot be asked is not "nothing". The table that is
// named is always the same, although TiDB lists tables in no order.
func TestHolds(t *testing.T) {
	const none = "[schema:1049]Unknown database 'none'"
	answers := map[string]string{
		"/schema":               `[{"db_name":{"O":"mysql"}},{"db_name":{"O":"INFORMATION_SCHEMA"}},{"db_name":{"O":"__TiDB_BR_Temporary_mysql"}},{"db_name":{"O":"test"}},{"db_name":{"O":"my app"}}]`,
		"/schema/test":          `[]`,
		"/schema/my app":        `[{"name":{"O":"users"}},{"name":{"O":"orders"}}]`,
		"/schema/none":          none,
		"/schema/my app/users":  `{"name":{"O":"users"}}`,
		"/schema/my app/others": "[schema:1146]Table 'my app.others' doesn't exist",
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := answers[r.URL.Path]
		switch {
		case !ok:
			w.WriteHeader(http.StatusInternalServerError)
		case strings.HasPrefix(body, "[schema:"):
			w.WriteHeader(http.StatusBadRequest)
		}
		io.WriteString(w, body)
	}))
	defer s.Close()
	c, host := &Client{HTTP: s.Client()}, strings.TrimPrefix(s.URL, "http://")
	for _, example := range []struct{ db, table, want string }{
		{"", "", "table `my app`.orders"}, {"test", "", ""}, {"my app", "", "table `my app`.orders"}, {"none", "", ""},
		{"my app", "users", "table `my app`.users"}, {"my app", "others", ""},
	} {
		if got, err := c.Holds(t.Context(), host, example.db, example.table); err != nil || got != example.want {
			t.Errorf("%+v: %q, %v", example, got, err)
		}
	}
	if got, err := c.Holds(t.Context(), host, "broken", ""); err == nil {
		t.Errorf("a server that fails has %q", got)
	}
	for _, body := range []string{`[]`, `{`, `null`} {
		answers["/schema"] = body
		if got, err := c.Holds(t.Context(), host, "", ""); err == nil {
			t.Errorf("%s: %q", body, got)
		}
	}
}
