package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/traffic/echo"
)

// readyRetry is the pause between two attempts to find the workload.
const readyRetry = 100 * time.Millisecond

// maxBody bounds what is read of a response, in bytes.
const maxBody = 4096

// httpTransport sends HTTP/1.1 requests. It never sends one twice.
type httpTransport struct {
	url       string
	dialer    net.Dialer
	address   string // of the target, once it was resolved
	transport *http.Transport
}

func newHTTP(cfg Config) (*httpTransport, error) {
	t := &httpTransport{url: cfg.Target}
	t.transport = &http.Transport{
		DialContext:         t.dial,
		DisableKeepAlives:   !cfg.KeepAlive,
		DisableCompression:  true,
		MaxIdleConns:        cfg.MaxInFlight,
		MaxIdleConnsPerHost: cfg.MaxInFlight,
	}
	return t, nil
}

// ready resolves the target's name and waits until something answers there. The
// name is resolved once, as a Service keeps its address: otherwise every request
// would measure DNS too.
func (t *httpTransport) ready(ctx context.Context) error {
	for {
		err := t.find(ctx)
		if err == nil {
			return nil
		}
		if sleep(ctx, readyRetry) != nil {
			return fmt.Errorf("%s does not answer: %w", t.url, err)
		}
	}
}

func (t *httpTransport) find(ctx context.Context) error {
	u, err := url.Parse(t.url)
	if err != nil {
		return err
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	addresses, err := net.DefaultResolver.LookupHost(ctx, u.Hostname())
	if err != nil {
		return err
	}
	address := net.JoinHostPort(addresses[0], port)
	conn, err := t.dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	t.address = address
	return conn.Close()
}

// dial connects to the address that was found. Closing the connection resets
// it: otherwise every one would hold a port for a minute, and there are only
// some 28000 of them.
func (t *httpTransport) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	conn, err := t.dialer.DialContext(ctx, network, t.address)
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		if err := tcp.SetLinger(0); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

// send makes one request. net/http repeats a request by itself if a reused
// connection turns out to be closed; it cannot if there is a body that it
// cannot get a second time (transport.go, shouldRetryRequest).
func (t *httpTransport) send(ctx context.Context) outcome {
	body := io.NopCloser(strings.NewReader("x"))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, body)
	if err != nil {
		return outcome{failure: httpFailure(err)}
	}
	req.ContentLength = 1
	resp, err := t.transport.RoundTrip(req) // a Client would follow redirects
	if err != nil {
		return outcome{failure: httpFailure(err)}
	}
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxBody))
	err = errors.Join(err, resp.Body.Close())
	if err != nil {
		return outcome{failure: httpFailure(err)}
	}
	return httpOutcome(resp)
}

func httpOutcome(resp *http.Response) outcome {
	who := recording.Answer{Version: resp.Header.Get(echo.VersionKey), Hash: resp.Header.Get(echo.HashKey), Pod: resp.Header.Get(echo.PodKey)}
	if resp.StatusCode == http.StatusOK && who.Pod != "" {
		return outcome{answer: who}
	}
	cause := recording.Cause(resp.Header.Get(echo.CauseKey))
	if cause == "" {
		cause = recording.Other
	}
	return outcome{failure: recording.Failure{Cause: cause, Version: who.Version, Text: fmt.Sprintf("HTTP status %s of pod %q", resp.Status, who.Pod)}}
}

func (t *httpTransport) close() { t.transport.CloseIdleConnections() }

// sleep waits, or returns the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
