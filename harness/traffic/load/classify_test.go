package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"reckon.dev/reckon/harness/recording"
)

// The texts were taken from runs of grpc v1.85.0 against istiod.
func TestRPCErrorsHaveTheirCauseAndTarget(t *testing.T) {
	t.Parallel()
	const canary = "outbound|8080|canary|app.demo.svc.cluster.local"
	for _, tt := range []struct {
		code   codes.Code
		text   string
		told   string
		cause  recording.Cause
		target string
	}{
		{codes.Unavailable, `unknown cluster selected for RPC: "cluster:` + canary + `"`, "", recording.ClientRace, "canary"},
		{codes.Unavailable, "weighted-target: no targets to pick from", "", recording.NoEndpoint, ""},
		{codes.Unavailable, "no children to pick from", "", recording.NoEndpoint, ""},
		{codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.22:8080: connect: connection refused"`, "", recording.Refused, ""},
		{codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 10.1.0.9:8080: i/o timeout"`, "", recording.Refused, ""},
		{codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 10.1.0.9:8080: connect: no route to host"`, "", recording.Refused, ""},
		{codes.Unavailable, "max requests 1024 exceeded on service outbound|8080|stable|app.demo.svc.cluster.local", "", recording.ClientLimit, "stable"},
		{codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 10.1.0.9:8080: connect: cannot assign requested address"`, "", recording.ClientLimit, ""},
		{codes.DeadlineExceeded, "context deadline exceeded", "", recording.TimedOut, ""},
		{codes.DeadlineExceeded, "latest balancer error: weighted-target: no targets to pick from", "", recording.TimedOut, ""},
		{codes.Unavailable, `failed to push new configuration: xds: resource "` + canary + `" of type "ClusterResource" has been removed`, "", recording.NoRoute, "canary"},
		{codes.Unavailable, "no matched route was found", "", recording.NoRoute, ""},
		{codes.ResourceExhausted, "overloaded", "overloaded", recording.Overloaded, ""},
		{codes.ResourceExhausted, "overloaded", "", recording.Overloaded, ""},
		{codes.Internal, "injected", "injected", recording.Injected, ""},
		{codes.Unavailable, "error reading from server: EOF", "", recording.Reset, ""},
		{codes.Unavailable, "error reading from server: read tcp 10.1.0.8:1->10.1.0.9:8080: read: connection reset by peer", "", recording.Reset, ""},
		{codes.Unavailable, `closing transport due to: connection error: desc = "error reading from server: EOF", received prior goaway: code: NO_ERROR, debug data: "graceful_stop"`, "", recording.Reset, ""},
		{codes.Unavailable, "transport is closing", "", recording.Reset, ""},
		{codes.Unavailable, "the connection is draining", "", recording.Reset, ""},
		{codes.Internal, "stream terminated by RST_STREAM with error code: CANCEL", "", recording.Reset, ""},
		{codes.Unimplemented, "unknown service reckon.traffic.v1.Echo", "", recording.Other, ""},
		{codes.Unavailable, "outbound|80||app.demo.svc.cluster.local: something new", "", recording.Other, "app"},
	} {
		got := rpcFailure(status.Error(tt.code, tt.text), tt.told, "")
		if got.Cause != tt.cause || got.Target != tt.target || got.Text != tt.text || got.N != 0 {
			t.Errorf("%s\ngot  %+v\nwant %s of %q", tt.text, got, tt.cause, tt.target)
		}
	}
}

func TestHTTPErrorsHaveTheirCause(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]recording.Cause{
		"dial tcp 10.96.0.7:80: connect: connection refused": recording.Refused,
		"EOF":            recording.Reset,
		"unexpected EOF": recording.Reset,
		"read tcp 10.1.0.8:1->10.96.0.7:80: read: connection reset by peer": recording.Reset,
		"write tcp 10.1.0.8:1->10.96.0.7:80: write: broken pipe":            recording.Reset,
		"http: server closed idle connection":                               recording.Reset,
		"dial tcp 10.96.0.7:80: connect: cannot assign requested address":   recording.ClientLimit,
		"dial tcp 10.96.0.7:80: socket: too many open files":                recording.ClientLimit,
		"malformed HTTP response":                                           recording.Other,
	} {
		if got := httpFailure(errors.New(text)); got.Cause != want || got.Text != text {
			t.Errorf("%s: %+v, want %s", text, got, want)
		}
	}
	if got := httpFailure(fmt.Errorf("dial: %w", context.DeadlineExceeded)); got.Cause != recording.TimedOut {
		t.Errorf("%+v", got)
	}
}

func TestLongTextsAreCut(t *testing.T) {
	t.Parallel()
	got := rpcFailure(status.Error(codes.Unavailable, strings.Repeat("ä", maxText)), "", "")
	if len(got.Text) > maxText+4 || !strings.HasSuffix(got.Text, " ...") || strings.ContainsRune(got.Text, '\uFFFD') {
		t.Errorf("%d bytes: %s", len(got.Text), got.Text)
	}
}
