// Package argorollouts installs, starts and stops the Argo Rollouts controller
// at a version, and sends it the commands of its kubectl plugin.
package argorollouts

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/mod/semver"
	"k8s.io/utils/clock"

	"reckon.dev/reckon/harness/process"
)

// Name of the component, of its process and of its log in recordings.
const Name = "argo-rollouts"

// Namespace that the controller calls its own.
const Namespace = "argo-rollouts"

// Config says which controller is started and how.
type Config struct {
	Binary     string
	Version    string
	Kubeconfig string
	LogDir     string
	// Elect turns leader election on: of several controllers one works.
	Elect bool
	// Number tells the logs of several controllers apart; 0 and 1 are the first.
	Number int
	// HealthPort and MetricsPort are free ports of the caller's choosing.
	HealthPort, MetricsPort int
	// OnLine receives each log line as it is written.
	OnLine func(line string)
	Clock  clock.Clock
}

// Controller is a running controller process.
type Controller struct {
	Process *process.Process
	// MetricsURL serves Prometheus text.
	MetricsURL string
}

// Start starts the controller on loopback and returns once /healthz answers.
// The controller binds its two ports on every interface unless told otherwise
// by wrapping, see args.
func Start(ctx context.Context, sup *process.Supervisor, c Config) (*Controller, error) {
	p, err := sup.Start(ctx, process.Spec{
		Name: Name, Path: c.Binary, Args: c.args(), LogPath: filepath.Join(c.LogDir, c.logName()), OnLine: c.OnLine,
		Env: []string{"POD_NAMESPACE=" + Namespace, "KUBECONFIG=" + c.Kubeconfig},
	})
	if err != nil {
		return nil, fmt.Errorf("starting the Argo Rollouts controller %s: %w", c.Version, err)
	}
	ctl := &Controller{Process: p, MetricsURL: fmt.Sprintf("http://127.0.0.1:%d/metrics", c.MetricsPort)}
	if err := awaitHealthy(ctx, c, p); err != nil {
		stopErr := p.Kill(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("waiting for the Argo Rollouts controller %s: %w", c.Version, firstError(err, stopErr))
	}
	return ctl, nil
}

func (c Config) logName() string {
	if c.Number <= 1 {
		return Name + ".log"
	}
	return fmt.Sprintf("%s-%d.log", Name, c.Number)
}

// args: leader election is off where one process is all there is; the log
// is JSON so that its lines can be told apart from the client's.
func (c Config) args() []string {
	metrics := "--metricsport"
	if semver.Compare(c.Version, "v1.9.0") >= 0 { // the old spelling is deprecated from 1.9 on
		metrics = "--metricsPort"
	}
	return append([]string{
		"--kubeconfig", c.Kubeconfig, fmt.Sprintf("--leader-elect=%t", c.Elect),
		"--healthzPort", strconv.Itoa(c.HealthPort), metrics, strconv.Itoa(c.MetricsPort),
	}, commonArgs...)
}

// commonArgs are the same for processes and pods, and for every version.
var commonArgs = []string{"--logformat", "json", "--loglevel", "info", "--qps", "200", "--burst", "400"}

// awaitHealthy polls /healthz: the controller offers nothing that can be watched.
func awaitHealthy(ctx context.Context, c Config, p *process.Process) error {
	url := fmt.Sprintf("http://127.0.0.1:%d/healthz", c.HealthPort)
	client := &http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	for {
		if ok := probe(ctx, client, url); ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.Done():
			return p.Err()
		case <-c.Clock.After(20 * time.Millisecond):
		}
	}
}

func probe(ctx context.Context, client *http.Client, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
