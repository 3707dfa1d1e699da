package image

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// sample is a tree with one of everything, built in the given order.
func sample(t *testing.T, reverse bool) *Tree {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree := NewTree()
	steps := []func(){
		func() { tree.Data("etc/b.conf", 0o644, []byte("b")) },
		func() { tree.Link("etc/a.conf", "b.conf") },
		func() { tree.Dir("var/empty", 0o700) },
		func() {
			if err := tree.File("/usr/bin/program", 0o755, file); err != nil {
				t.Error(err)
			}
		},
	}
	if reverse {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		step()
	}
	return tree
}

func layerOf(t *testing.T, tree *Tree) v1.Layer {
	t.Helper()
	l, err := tree.Layer(filepath.Join(t.TempDir(), "layer.tar"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestTheSameFilesMakeTheSameDigests(t *testing.T) {
	t.Parallel()
	var digests []string
	for _, reverse := range []bool{false, true} {
		img, err := New(v1.Config{Env: []string{Path}}, layerOf(t, sample(t, reverse)))
		if err != nil {
			t.Fatal(err)
		}
		d, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, d.String())
		time.Sleep(10 * time.Millisecond) // times of files and of the making must not count
	}
	if digests[0] != digests[1] {
		t.Errorf("digests %v", digests)
	}
}

func TestALayerIsSortedDatedAtTheEpochAndHasAllDirectories(t *testing.T) {
	t.Parallel()
	names := map[string]byte{}
	var order []string
	each(t, layerOf(t, sample(t, false)), func(h *tar.Header, _ []byte) {
		names[h.Name] = h.Typeflag
		order = append(order, strings.TrimSuffix(h.Name, "/"))
		if !h.ModTime.Equal(epoch) {
			t.Errorf("%s has the time %s", h.Name, h.ModTime)
		}
	})
	for name, kind := range map[string]byte{"etc/": tar.TypeDir, "usr/bin/": tar.TypeDir, "usr/bin/program": tar.TypeReg, "etc/a.conf": tar.TypeSymlink, "var/empty/": tar.TypeDir} {
		if names[name] != kind {
			t.Errorf("%s is %q, want %q", name, names[name], kind)
		}
	}
	if !slices.IsSorted(order) {
		t.Errorf("not sorted: %v", order)
	}
}

func TestALayerReadAgainIsTheSame(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "layer.tar")
	first, err := sample(t, false).Layer(file)
	if err != nil {
		t.Fatal(err)
	}
	again, err := LayerFile(file)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := first.Digest()
	b, _ := again.Digest()
	if a != b {
		t.Errorf("%s and %s", a, b)
	}
}

func TestARootFileSystemKeepsLinksAndLeavesOutWhatIsSkipped(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"usr/bin/tool", "proc/1/stat", "usr/share/doc/tool/README"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(name), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(os.Link(filepath.Join(root, "usr/bin/tool"), filepath.Join(root, "usr/bin/zool")), os.Symlink("usr/bin", filepath.Join(root, "bin")))
	if err != nil {
		t.Fatal(err)
	}
	tree := NewTree()
	err = tree.Root(root, func(name string) bool { return strings.HasPrefix(name, "proc/") || name == "usr/share/doc/tool" })
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	each(t, layerOf(t, tree), func(h *tar.Header, data []byte) {
		got[h.Name] = string(h.Typeflag) + h.Linkname + string(data)
	})
	want := map[string]string{
		"bin": "2usr/bin", "proc/": "5", "usr/": "5", "usr/bin/": "5", "usr/bin/tool": "0usr/bin/tool", "usr/bin/zool": "1usr/bin/tool",
		"usr/share/": "5", "usr/share/doc/": "5",
	}
	for name, content := range want {
		if got[name] != content {
			t.Errorf("%s: %q, want %q", name, got[name], content)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
}

func TestArchivesHoldTheImageUnderItsName(t *testing.T) {
	t.Parallel()
	img, err := New(v1.Config{}, layerOf(t, sample(t, false)))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	const ref = "localhost/reckon/sample:v1"
	if err := WriteDocker(filepath.Join(dir, "docker.tar"), ref, img); err != nil {
		t.Fatal(err)
	}
	back, err := tarball.ImageFromPath(filepath.Join(dir, "docker.tar"), nil)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := img.ConfigName()
	b, _ := back.ConfigName()
	if a != b {
		t.Errorf("docker archive holds %s, want %s", b, a)
	}
	if err := WriteOCI(filepath.Join(dir, "oci.tar"), ref, img); err != nil {
		t.Fatal(err)
	}
	checkOCI(t, filepath.Join(dir, "oci.tar"), ref, img)
}

func checkOCI(t *testing.T, file, ref string, img v1.Image) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files := map[string][]byte{}
	readTar(t, f, func(h *tar.Header, data []byte) { files[h.Name] = data })
	var index v1.IndexManifest
	if err := json.Unmarshal(files["index.json"], &index); err != nil {
		t.Fatal(err)
	}
	digest, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if m := index.Manifests[0]; m.Digest != digest || m.Annotations["io.containerd.image.name"] != ref {
		t.Errorf("index names %+v", m)
	}
	manifest, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range append(manifest.Layers, manifest.Config) {
		if int64(len(files[blob(d.Digest)])) != d.Size {
			t.Errorf("blob %s has %d bytes, want %d", d.Digest, len(files[blob(d.Digest)]), d.Size)
		}
	}
}

// The test's own surroundings are a root file system.
func TestProgramsComeWithLoaderAndLibraries(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/bin/ls"); err != nil {
		t.Skip("no /bin/ls")
	}
	tree := NewTree()
	if err := tree.Programs("/", []string{"bin/ls"}); err != nil {
		t.Skipf("not a Debian-like system: %v", err)
	}
	var libc, loader bool
	each(t, layerOf(t, tree), func(h *tar.Header, _ []byte) {
		libc = libc || strings.Contains(h.Name, "libc.so.6")
		loader = loader || strings.Contains(h.Name, "ld-linux")
	})
	if !libc || !loader {
		t.Errorf("C library %t, loader %t", libc, loader)
	}
	if err := NewTree().Programs("/", []string{"bin/no-such-program"}); err == nil {
		t.Error("no error for a program that is not there")
	}
}

func each(t *testing.T, l v1.Layer, do func(*tar.Header, []byte)) {
	t.Helper()
	r, err := l.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	readTar(t, r, do)
}

func readTar(t *testing.T, r io.Reader, do func(*tar.Header, []byte)) {
	t.Helper()
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var data bytes.Buffer
		if _, err := io.Copy(&data, tr); err != nil {
			t.Fatal(err)
		}
		do(h, data.Bytes())
	}
}
