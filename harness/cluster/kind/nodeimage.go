package kind

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/kind/pkg/apis/config/defaults"
)

// ErrNoImage: the image of the nodes is not here and cannot be made or pulled.
var ErrNoImage = errors.New("no image for the nodes")

// ImageLabel marks node images that reckon built.
const ImageLabel = "dev.reckon=kind-node"

// resolved is an image that the engine has.
type resolved struct{ ref, id string }

// resolve makes sure that the engine has the image. What is here comes before
// what would have to be made or fetched.
func (n NodeImage) resolve(ctx context.Context, e engine, progress func(string)) (resolved, error) {
	switch n.Want {
	case "", "auto":
		return n.auto(ctx, e, progress)
	case "build":
		return n.build(ctx, e, progress)
	}
	return have(ctx, e, n.Want, progress)
}

func (n NodeImage) auto(ctx context.Context, e engine, progress func(string)) (resolved, error) {
	pinned := pinnedImage(n.Kubernetes)
	if id, err := e.imageID(ctx, pinned); err != nil || id != "" {
		return resolved{pinned, id}, err
	}
	if n.Build != nil && n.Built != nil && n.Built(ctx) {
		return n.build(ctx, e, progress)
	}
	got, pullErr := have(ctx, e, pinned, progress)
	if pullErr == nil || ctx.Err() != nil || n.Build == nil {
		return got, pullErr
	}
	progress(fmt.Sprintf("%s cannot be pulled: building a node image", pinned))
	got, err := n.build(ctx, e, progress)
	if err != nil && ctx.Err() == nil {
		return got, fmt.Errorf("%w; and %w", err, pullErr)
	}
	return got, err
}

// pinnedImage is the upstream image of a Kubernetes version: by digest if it is
// the one that kind's own release was tested with.
func pinnedImage(kubernetes string) string {
	name, _, _ := strings.Cut(defaults.Image, "@")
	if repo, tag, _ := strings.Cut(name, ":"); kubernetes != "" && kubernetes != tag {
		return repo + ":" + kubernetes
	}
	return defaults.Image
}

// have returns an image that the engine has, or pulls it.
func have(ctx context.Context, e engine, ref string, progress func(string)) (resolved, error) {
	id, err := e.imageID(ctx, ref)
	if err != nil || id != "" {
		return resolved{ref, id}, err
	}
	progress("pulling " + ref)
	if _, err := e.run(ctx, "pull", "--quiet", ref); err != nil {
		if ctx.Err() != nil {
			return resolved{}, err
		}
		return resolved{}, fmt.Errorf("%w: %s is not here and cannot be pulled: %w", ErrNoImage, ref, err)
	}
	id, err = e.imageID(ctx, ref)
	return resolved{ref, id}, err
}

// build loads the image that reckon builds, unless the engine has it.
func (n NodeImage) build(ctx context.Context, e engine, progress func(string)) (resolved, error) {
	if n.Build == nil {
		return resolved{}, fmt.Errorf("%w: nothing to build it with", ErrNoImage)
	}
	archive, err := n.Build(ctx)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", ErrNoImage, err)
	}
	if err != nil {
		return resolved{}, err
	}
	id, err := e.imageID(ctx, archive.Ref)
	if err != nil || id != "" {
		return resolved{archive.Ref, id}, err
	}
	progress("loading the node image " + archive.Ref)
	if _, err := e.run(ctx, "load", "--input", archive.Path); err != nil {
		return resolved{}, explain(err)
	}
	id, err = e.imageID(ctx, archive.Ref)
	if err == nil && id == "" {
		err = fmt.Errorf("%w: %s loaded %s, and does not know %s", ErrNoImage, e.name, archive.Path, archive.Ref)
	}
	return resolved{archive.Ref, id}, err
}

// explain says in words what an engine's full disk means.
func explain(err error) error {
	if err != nil && strings.Contains(err.Error(), "no space left on device") {
		return fmt.Errorf("the disk of the container engine is full: %w", err)
	}
	return err
}
