package toolchain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"reckon.dev/reckon/harness/toolchain/image"
)

// ImageSpec says what an image of a component's programs looks like: the
// programs on an empty file system, which is enough for static ones.
type ImageSpec struct {
	// Repository is the image's name without a tag; empty: one of ours. No
	// registry has it: nodes get it loaded, and pods must not pull it.
	Repository string
	// Programs by their path in the image. Empty: all, in /usr/local/bin.
	Programs map[string]string
	// Entrypoint; empty: the component's first program.
	Entrypoint []string
	// User and group by number; empty: root.
	User string
}

// imageFormat changes when the content of an image of the same inputs does.
const imageFormat = 1

// complete fills in defaults.
func (s ImageSpec) complete(a Artifact) ImageSpec {
	if s.Repository == "" {
		s.Repository = "localhost/reckon/" + a.Component
	}
	if len(s.Programs) == 0 {
		s.Programs = map[string]string{}
		for _, b := range a.Binaries {
			s.Programs["usr/local/bin/"+b.Name] = b.Name
		}
	}
	if len(s.Entrypoint) == 0 && len(a.Binaries) > 0 {
		s.Entrypoint = []string{"/usr/local/bin/" + a.Binaries[0].Name}
	}
	return s
}

// Image makes an image of an artifact's programs, as an OCI archive for the
// containerd of a node, or takes it from the cache. Programs and specification
// decide its digest and its tag.
func (b *Builder) Image(ctx context.Context, a Artifact, spec ImageSpec) (Image, error) {
	s, err := b.workshop(ctx)
	if err != nil {
		return Image{}, err
	}
	spec = spec.complete(a)
	raw, err := json.Marshal(struct {
		Format   int
		Spec     ImageSpec
		Programs []Binary
		Platform string
	}{imageFormat, spec, digestsOf(a), a.Platform})
	if err != nil {
		return Image{}, err
	}
	sum := sha256.Sum256(raw)
	tag := fileName(a.Version) + "-" + hex.EncodeToString(sum[:6])
	entry := filepath.Join(s.cache.dir, "images", a.Component, tag)
	if img, err := loadImage(entry); err == nil {
		return img, nil
	}
	l, err := s.cache.lock(ctx, a.Component+"-image", a.Version, newMeter(b.Progress, a.Component, a.Version))
	if err != nil {
		return Image{}, err
	}
	defer l.Release()
	if img, err := loadImage(entry); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrDamaged) {
		return img, err
	}
	err = s.cache.inTemp(a.Component+"-image", a.Version, func(dir, work string) error {
		if err := writeProgramImage(a, spec, tag, dir, work); err != nil {
			return err
		}
		return replaceDir(dir, entry)
	})
	if err != nil {
		return Image{}, err
	}
	return loadImage(entry)
}

// digestsOf are an artifact's programs without their places on this machine.
func digestsOf(a Artifact) []Binary {
	out := slices.Clone(a.Binaries)
	for i := range out {
		out[i].Path = ""
	}
	return out
}

func writeProgramImage(a Artifact, spec ImageSpec, tag, dir, work string) error {
	tree := image.NewTree()
	for path, program := range spec.Programs {
		from, err := a.Path(program)
		if err != nil {
			return err
		}
		if err := tree.File(path, 0o755, from); err != nil {
			return err
		}
	}
	tree.Dir("tmp", 0o777)
	layer, err := tree.Layer(filepath.Join(work, "layer.tar"))
	if err != nil {
		return err
	}
	img, err := image.New(v1.Config{Env: []string{image.Path}, Entrypoint: spec.Entrypoint, User: spec.User}, layer)
	if err != nil {
		return err
	}
	ref := spec.Repository + ":" + tag
	if err := image.WriteOCI(filepath.Join(dir, imageArchive), ref, img); err != nil {
		return err
	}
	about, err := describeImage(ref, imageArchive, dir, img)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(about)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, imageAbout), raw, 0o644)
}

// Files of a cached image.
const (
	imageArchive = "image.tar"
	imageAbout   = "image.json"
)

// describeImage is the record of an archive below dir.
func describeImage(ref, rel, dir string, img v1.Image) (Image, error) {
	digest, err := img.Digest()
	if err != nil {
		return Image{}, err
	}
	id, err := img.ConfigName()
	if err != nil {
		return Image{}, err
	}
	info, err := os.Stat(filepath.Join(dir, rel))
	if err != nil {
		return Image{}, err
	}
	return Image{Ref: ref, Path: rel, Digest: digest.String(), ID: id.String(), Size: info.Size()}, nil
}

// loadImage reads a cached image; one that is not whole is ErrDamaged.
func loadImage(dir string) (Image, error) {
	raw, err := os.ReadFile(filepath.Join(dir, imageAbout))
	if err != nil {
		return Image{}, err
	}
	var img Image
	if err := json.Unmarshal(raw, &img); err != nil {
		return Image{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	img.Path = filepath.Join(dir, img.Path)
	if info, err := os.Stat(img.Path); err != nil || info.Size() != img.Size {
		return Image{}, fmt.Errorf("%w: %s is not the archive that was made", ErrDamaged, img.Path)
	}
	return img, nil
}
