package dial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilportforward "k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/websocket"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// spdyPings keeps load balancers from dropping an idle connection.
const spdyPings = 5 * time.Second

// upgraded is a connection to the API server that carries streams to one pod.
type upgraded struct {
	conn httpstream.Connection
	// raw, if known, ends the connection at once; closing conn may wait for the streams of a dead network.
	raw io.Closer
}

func (u upgraded) close() {
	if u.raw != nil {
		u.raw.Close()
	}
	u.conn.Close()
}

// upgrade connects to the pod's port-forward endpoint. It does so in an own goroutine, since not all of it can be
// cancelled.
func (p *Pods) upgrade(ctx context.Context, key types.NamespacedName) (upgraded, error) {
	type result struct {
		up  upgraded
		err error
	}
	done := make(chan result, 1)
	u := p.core.RESTClient().Post().Resource("pods").
		Namespace(key.Namespace).Name(key.Name).SubResource("portforward").URL()
	go func() {
		up, err := p.upgradeEither(ctx, u)
		done <- result{up, err}
	}()
	select {
	case r := <-done:
		return r.up, r.err
	case <-ctx.Done():
		go func() {
			if r := <-done; r.err == nil {
				r.up.close()
			}
		}()
		return upgraded{}, ctx.Err()
	}
}

// upgradeEither tries a websocket, which passes proxies that SPDY does not, and falls back to SPDY. The websocket's
// upgrade is a GET, so a user who may only create pods/portforward is refused it and allowed SPDY: a 403 falls back
// too.
func (p *Pods) upgradeEither(ctx context.Context, u *url.URL) (upgraded, error) {
	if p.spdyOnly.Load() {
		return upgradeSPDY(ctx, p.config, u)
	}
	up, err := upgradeWebsocket(ctx, p.config, u)
	if err == nil || !fallsBack(err) {
		return up, cause(err)
	}
	up, second := upgradeSPDY(ctx, p.config, u)
	if second != nil {
		return up, second
	}
	p.spdyOnly.Store(true)
	return up, nil
}

// fallsBack compares with the error types of k8s.io/streaming: the type of the same name in
// apimachinery never matches.
func fallsBack(err error) bool {
	if httpstream.IsHTTPSProxyError(err) {
		return true
	}
	c := cause(err)
	return httpstream.IsUpgradeFailure(err) && !apierrors.IsNotFound(c) && !apierrors.IsUnauthorized(c)
}

// cause returns the API server's answer from a failed upgrade, which does not unwrap to it.
func cause(err error) error {
	var failure *httpstream.UpgradeFailureError
	if errors.As(err, &failure) {
		return failure.Cause
	}
	return err
}

// upgradeWebsocket uses the parts of client-go's dialer and not that dialer, which takes no
// context. The round tripper is recreated each time because it must not be used twice.
func upgradeWebsocket(ctx context.Context, config *rest.Config, u *url.URL) (upgraded, error) {
	rt, holder, err := websocket.RoundTripperFor(config)
	if err != nil {
		return upgraded{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return upgraded{}, err
	}
	ws, err := websocket.Negotiate(rt, holder, req, utilportforward.WebsocketsSPDYTunnelingPortForwardV1)
	if err != nil {
		return upgraded{}, err
	}
	tunnel := portforward.NewTunnelingConnection("client", ws)
	conn, err := spdy.NewClientConnectionWithPings(tunnel, portforward.PingPeriod)
	if err != nil {
		tunnel.Close()
		return upgraded{}, err
	}
	return upgraded{conn: conn, raw: tunnel}, nil
}

func upgradeSPDY(ctx context.Context, config *rest.Config, u *url.URL) (upgraded, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return upgraded{}, err
	}
	upgrader, err := spdy.NewRoundTripperWithConfig(spdy.RoundTripperConfig{
		TLS: tlsConfig, Proxier: config.Proxy, PingPeriod: spdyPings,
	})
	if err != nil {
		return upgraded{}, err
	}
	rt, err := rest.HTTPWrappersForConfig(config, upgrader)
	if err != nil {
		return upgraded{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), nil)
	if err != nil {
		return upgraded{}, err
	}
	req.Header.Set(httpstream.HeaderProtocolVersion, utilportforward.PortForwardV1Name)
	resp, err := (&http.Client{Transport: rt}).Do(req)
	if err != nil {
		return upgraded{}, err
	}
	defer resp.Body.Close()
	conn, err := upgrader.NewConnection(resp)
	if err != nil {
		return upgraded{}, statusOf(resp, err)
	}
	return upgraded{conn: conn}, nil
}

// statusOf returns an error with the code of an answer, of which the library keeps only the text.
func statusOf(resp *http.Response, err error) error {
	if resp.StatusCode < http.StatusBadRequest {
		return fmt.Errorf("the API server answered %s: %w", resp.Status, err)
	}
	reason := map[int]metav1.StatusReason{
		http.StatusForbidden:    metav1.StatusReasonForbidden,
		http.StatusUnauthorized: metav1.StatusReasonUnauthorized,
		http.StatusNotFound:     metav1.StatusReasonNotFound,
	}[resp.StatusCode]
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: int32(resp.StatusCode), Reason: reason,
		Message: strings.TrimPrefix(err.Error(), "unable to upgrade connection: "),
	}}
}
