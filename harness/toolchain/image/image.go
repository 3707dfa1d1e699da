package image

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Path is where programs are looked for in an image.
const Path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// New makes an image of layers, for this machine's platform.
func New(cfg v1.Config, layers ...v1.Layer) (v1.Image, error) {
	base := mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1)
	img, err := mutate.AppendLayers(base, layers...)
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.Created, file.Config = v1.Time{Time: epoch}, cfg
	file.OS, file.Architecture = "linux", runtime.GOARCH
	return mutate.ConfigFile(img, file)
}

// WriteDocker writes an archive for docker load (and its likes), which give the
// image the name ref.
func WriteDocker(file, ref string, img v1.Image) error {
	tag, err := name.NewTag(ref)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(file, tag, img)
}

// WriteOCI writes an OCI archive for ctr images import, which gives the image
// the name ref. Unlike docker's archive it keeps the digest of the manifest.
func WriteOCI(file, ref string, img v1.Image) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}()
	a := &archive{tw: tar.NewWriter(f), have: map[v1.Hash]bool{}}
	if err := a.image(ref, img); err != nil {
		return fmt.Errorf("archive of %s: %w", ref, err)
	}
	return a.tw.Close()
}

// archive is an OCI image layout in a tar file.
type archive struct {
	tw   *tar.Writer
	have map[v1.Hash]bool
}

func (a *archive) image(ref string, img v1.Image) error {
	manifest, err := img.RawManifest()
	if err != nil {
		return err
	}
	digest, err := img.Digest()
	if err != nil {
		return err
	}
	index, err := json.Marshal(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{{
		MediaType: types.OCIManifestSchema1, Digest: digest, Size: int64(len(manifest)),
		Platform: &v1.Platform{OS: "linux", Architecture: runtime.GOARCH},
		// containerd names the image after this one (core/images/archive/reference.go).
		Annotations: map[string]string{"io.containerd.image.name": ref},
	}}})
	if err != nil {
		return err
	}
	if err := a.add("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)); err != nil {
		return err
	}
	if err := a.add("index.json", index); err != nil {
		return err
	}
	config, err := img.RawConfigFile()
	if err != nil {
		return err
	}
	configName, err := img.ConfigName()
	if err != nil {
		return err
	}
	if err := a.add(blob(digest), manifest); err != nil {
		return err
	}
	if err := a.add(blob(configName), config); err != nil {
		return err
	}
	return a.layers(img)
}

func (a *archive) layers(img v1.Image) error {
	layers, err := img.Layers()
	if err != nil {
		return err
	}
	for _, l := range layers {
		digest, err := l.Digest()
		if err != nil {
			return err
		}
		if a.have[digest] {
			continue
		}
		a.have[digest] = true
		size, err := l.Size()
		if err != nil {
			return err
		}
		content, err := l.Compressed()
		if err != nil {
			return err
		}
		err = a.stream(blob(digest), size, content)
		content.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func blob(h v1.Hash) string { return path.Join("blobs", h.Algorithm, h.Hex) }

func (a *archive) add(name string, data []byte) error {
	if err := a.header(name, int64(len(data))); err != nil {
		return err
	}
	_, err := a.tw.Write(data)
	return err
}

func (a *archive) stream(name string, size int64, content io.Reader) error {
	if err := a.header(name, size); err != nil {
		return err
	}
	_, err := io.Copy(a.tw, content)
	return err
}

func (a *archive) header(name string, size int64) error {
	return a.tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: size, ModTime: epoch})
}
