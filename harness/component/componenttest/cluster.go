// Package componenttest gives tests a real cluster, and images of components in
// it.
package componenttest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"reckon.dev/reckon/harness/cluster/kind"
	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/toolchain"
)

// Cluster makes a kind cluster that goes with the test. It skips the test where
// real clusters are not wanted: they take half a minute each.
func Cluster(t *testing.T) *kind.Cluster {
	t.Helper()
	if os.Getenv("RECKON_TEST_KIND") == "" {
		t.Skip("RECKON_TEST_KIND is not set: `make test-kind` sets it")
	}
	provider := engine.Kind(filepath.Join(t.TempDir(), "clusters"), &toolchain.Builder{}, "", "build", progress(t))
	c, err := kind.Up(t.Context(), provider.Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return c
}

func progress(t *testing.T) func(string) {
	return func(step string) { t.Log(time.Now().Format("05.0"), step) }
}

// needs skips where a component would have to be compiled from nothing: a version
// that no drill of the tests runs.
func needs(t *testing.T, b *toolchain.Builder, req toolchain.Request) {
	t.Helper()
	if req.Version != "" && !b.Cached(t.Context(), req) {
		t.Skipf("no %s %s: reckon build makes it", req.Component, req.Version)
	}
}

// Image is a component that the nodes of a cluster have an image of.
type Image struct {
	Ref      string
	Artifact toolchain.Artifact
}

// Load puts an image of a component into the nodes. It skips the test where the
// component would have to be compiled from nothing.
func Load(t *testing.T, c *kind.Cluster, req toolchain.Request, user string) Image {
	t.Helper()
	b := &toolchain.Builder{}
	needs(t, b, req)
	req.Unedited = true
	a, err := b.Build(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	img, err := b.Image(t.Context(), a, toolchain.ImageSpec{User: user})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.LoadImages(t.Context(), img.Path); err != nil {
		t.Fatal(err)
	}
	return Image{Ref: img.Ref, Artifact: a}
}
