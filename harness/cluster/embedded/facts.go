package embedded

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"reckon.dev/reckon/harness/cluster"
)

// collectFacts asks the components who they are.
func (c *Cluster) collectFacts(ctx context.Context) error {
	facts := cluster.Facts{
		"provider":         providerName,
		"fidelity":         fidelity,
		"cluster":          c.cfg.Name,
		"nodes":            strconv.Itoa(c.cfg.Nodes),
		"serviceCIDR":      serviceCIDR,
		"podCIDR":          podCIDR,
		"componentQPS":     strconv.Itoa(componentQPS),
		"etcd/fsync":       "off",
		"readinessGate":    cluster.ReadinessGate,
		"leaderElection":   "off",
		"nodeLeaseSeconds": "40",
		hpaSyncPeriodFlag:  hpaSyncPeriod,
	}
	for component, version := range c.cfg.Versions {
		facts["version/"+component] = version
	}
	version, err := c.probe.client.Discovery().ServerVersion()
	if err != nil {
		return err
	}
	facts["version/"+apiServerName] = version.GitVersion
	for _, component := range []string{controllerManagerName, schedulerName} {
		if _, given := facts["version/"+component]; given {
			continue
		}
		if facts["version/"+component], err = programVersion(ctx, c.plan.bins[component]); err != nil {
			return err
		}
	}
	if facts["version/"+etcdName], err = c.etcdVersion(ctx); err != nil {
		return err
	}
	digests, err := c.digests()
	if err != nil {
		return err
	}
	for component, digest := range digests {
		facts["digest/"+component] = digest
	}
	c.mu.Lock()
	c.facts = facts
	c.mu.Unlock()
	return nil
}

// programVersion asks the program: it need not be of the API server's version.
func programVersion(ctx context.Context, path string) (string, error) {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", path, err)
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "Kubernetes "), nil
}

// etcdVersion asks over TLS with the certificate that was made for it.
func (c *Cluster) etcdVersion(ctx context.Context) (string, error) {
	pair := c.creds.pairs[certEtcdProbe]
	client, err := rest.HTTPClientFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{
		CAData: c.creds.etcdCA.pem, CertData: pair.cert, KeyData: pair.key,
	}})
	if err != nil {
		return "", err
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.plan.url(portEtcd)+"/version", nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("etcd's version: %w", err)
	}
	defer response.Body.Close()
	var answer struct {
		Server string `json:"etcdserver"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return "", fmt.Errorf("etcd's version: %w", err)
	}
	return "v" + answer.Server, nil
}

// digests takes what the caller knows and hashes the rest.
func (c *Cluster) digests() (map[string]string, error) {
	out := maps.Clone(c.cfg.Digests)
	if out == nil {
		out = map[string]string{}
	}
	sums := make([]string, len(componentNames()))
	var group errgroup.Group
	for i, component := range componentNames() {
		if out[component] != "" {
			continue
		}
		group.Go(func() (err error) {
			sums[i], err = digest(c.plan.bins[component])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i, component := range componentNames() {
		if sums[i] != "" {
			out[component] = sums[i]
		}
	}
	return out, nil
}

func digest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// withPrefix returns the facts below a prefix, without it.
func withPrefix(facts cluster.Facts, prefix string) map[string]string {
	out := map[string]string{}
	for key, value := range facts {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			out[rest] = value
		}
	}
	return out
}
