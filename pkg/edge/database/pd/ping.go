package pd

import (
	"context"
	"fmt"
	"net/http"
)

// Ping asks one member whether its process answers, with the request of the health check of PD's leader. The leader
// may have missed a ping; this is a second report.
func Ping(ctx context.Context, client *http.Client, url string) error {
	req, err := request{method: http.MethodGet, path: "/pd/api/v1/ping", local: true}.build(ctx, url)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ping PD member %s: %w", url, err)
	}
	return readResponse(resp, nil)
}
