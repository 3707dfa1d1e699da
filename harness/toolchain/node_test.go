package toolchain

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/mod/modfile"

	"reckon.dev/reckon/harness/toolchain/image"
)

func TestProgramsOfOursAreCompiledFromWhatTheBinaryCarries(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.builder.Components = []Component{pause()}
	a := b.build(Request{Component: "pause"})
	path, err := a.Path("pause")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed by the signal if it was not yet listening
	if a.Origin.Kind != FromReckon || a.Origin.Hash == "" {
		t.Errorf("origin %+v", a.Origin)
	}
	b.noLeftovers()
}

func TestANodeOfAVersionThatThereIsNotCostsNoBuild(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.builder.Components = Catalogue()
	_, err := b.builder.Build(t.Context(), Request{Component: "kind-node", Version: "v9.9.9"})
	if !errors.Is(err, ErrVersionUnavailable) || !strings.Contains(err.Error(), "kubernetes v9.9.9") {
		t.Errorf("error %v, want %v", err, ErrVersionUnavailable)
	}
	b.noLeftovers()
}

func TestUnwantedFilesOfTheRootFileSystem(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"etc/resolv.conf": true, "etc/hostname": true, "usr/share/doc/bash": true, "proc/1": true, "var/lib/apt/lists/x": true,
		"etc/systemd/system/multi-user.target.wants/remote-fs.target": true, "usr/lib/systemd/system/sockets.target.wants/systemd-udevd-kernel.socket": true,
		"proc": false, "etc/passwd": false, "usr/lib/systemd/system/sockets.target.wants/dbus.socket": false, "usr/lib/systemd/systemd": false,
	} {
		if got := unwanted(name); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}

func TestEveryImageOfANodeIsMadeOfAPartThatHasItsProgram(t *testing.T) {
	t.Parallel()
	components := map[string]Component{}
	for _, c := range Catalogue() {
		components[c.Name] = c
	}
	for _, part := range nodeParts {
		if components[part].Name == "" {
			t.Errorf("no component %s", part)
		}
	}
	for ref, of := range nodeImages {
		program := filepath.Base(of.path)
		if !slices.ContainsFunc(components[of.part].Programs, func(p Program) bool { return p.Name == program }) {
			t.Errorf("%s: %s has no program %s", ref, of.part, program)
		}
	}
}

func TestTheNameOfAnImageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]string{
		"registry.k8s.io/kube-apiserver:v1.37.2": "kube-apiserver", "registry.k8s.io/coredns/coredns:v1.14.6": "coredns",
		"registry.k8s.io/pause:3.10": "pause", "localhost:5000/etcd": "etcd",
	} {
		if got := repository(ref); got != want {
			t.Errorf("%s: %s, want %s", ref, got, want)
		}
	}
}

// The files of the node image have to fit the library that makes the clusters.
func TestKindsFilesAreOfTheVersionOfItsLibrary(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.ParseLax("go.mod", raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range mod.Require {
		if r.Mod.Path == kind().Module && r.Mod.Version != kind().Default {
			t.Errorf("go.mod requires %s, the catalogue has %s", r.Mod.Version, kind().Default)
		}
	}
}

func TestImagesOfAnEntryAreCheckedWhenItIsLoaded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tree := image.NewTree()
	tree.Data("hello", 0o644, []byte("hello"))
	layer, err := tree.Layer(filepath.Join(t.TempDir(), "layer.tar"))
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.New(v1.Config{}, layer)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeImages(dir, map[string]v1.Image{"localhost/reckon/hello:v1": img}); err != nil {
		t.Fatal(err)
	}
	if err := seal(dir, Artifact{Component: "hello"}, nil); err != nil {
		t.Fatal(err)
	}
	a, err := load(dir)
	if err != nil || len(a.Images) != 1 || a.Images[0].Ref != "localhost/reckon/hello:v1" || !strings.HasPrefix(a.Images[0].Digest, "sha256:") {
		t.Fatalf("%+v, %v", a.Images, err)
	}
	if err := os.Truncate(a.Images[0].Path, 10); err != nil {
		t.Fatal(err)
	}
	if _, err := load(dir); err == nil {
		t.Error("a cut archive was taken")
	}
}

func TestAnImageOfProgramsIsMadeOnceAndItsDigestFollowsThem(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.build(Request{Component: "widget"})
	first, err := b.builder.Image(t.Context(), a, ImageSpec{User: "65532"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(first.Ref, "localhost/reckon/widget:v1.0.0-") {
		t.Errorf("reference %s", first.Ref)
	}
	before, err := os.Stat(first.Path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.builder.Image(t.Context(), a, ImageSpec{User: "65532"})
	if err != nil || again != first {
		t.Errorf("%+v, %v; want %+v", again, err, first)
	}
	if after, err := os.Stat(first.Path); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("made again: %v", err)
	}
	other := *b.builder // another cache, another place: the same image
	other.Cache = t.TempDir()
	same, err := other.Image(t.Context(), a, ImageSpec{User: "65532"})
	if err != nil || same.Digest != first.Digest || same.Ref != first.Ref {
		t.Errorf("%+v, %v; want the digest %s", same, err, first.Digest)
	}
	root, err := b.builder.Image(t.Context(), a, ImageSpec{})
	if err != nil || root.Digest == first.Digest || root.Ref == first.Ref {
		t.Errorf("%+v, %v; want another image than %s", root, err, first.Ref)
	}
	if err := os.Truncate(first.Path, 5); err != nil {
		t.Fatal(err)
	}
	repaired, err := b.builder.Image(t.Context(), a, ImageSpec{User: "65532"})
	if err != nil || repaired.Digest != first.Digest {
		t.Errorf("%+v, %v", repaired, err)
	}
	if _, err := b.builder.Image(t.Context(), a, ImageSpec{Programs: map[string]string{"x": "no-such"}}); err == nil {
		t.Error("no error for a program that is not there")
	}
	b.noLeftovers()
}

// What was cached before images and recipes existed has to stay where it is.
func TestNewFieldsDoNotChangeTheKeysOfCompiledComponents(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(etcd().content())
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"Recipe", "Packages", "Tags", "CGO"} {
		if strings.Contains(string(raw), field+`":`) {
			t.Errorf("%s is in %s", field, raw)
		}
	}
}
