package toolchain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"reckon.dev/reckon/harness/toolchain/image"
)

// NodeRepository is what node images of ours are called. No registry has it.
const NodeRepository = "localhost/reckon/kind-node"

// nodeFormat changes when the way in which a node image is put together does.
const nodeFormat = 1

// nodeSource makes the image of kind's nodes from components: what kind's own
// base image (images/base/Dockerfile) and "kind build node-image" do, without a
// container engine and without downloads of binaries or images.
type nodeSource struct {
	compilation
	builder *Builder

	parts map[string]Artifact // set by Identify
	tag   string
}

// nodeParts are the components of a node image. Those of Kubernetes have the
// node's version, the others their default.
var nodeParts = []string{
	"node-root", "kind", "kubernetes", "kubernetes-node", "etcd", "containerd", "runc", "crictl", "cni-plugins", "coredns", "pause",
}

// Identify builds the parts that are missing: their content decides.
func (s *nodeSource) Identify(ctx context.Context) (Identity, error) {
	if err := checkVersion(s.component, s.version); err != nil {
		return Identity{}, err
	}
	// A version that there is not is found before the rest is built for it.
	if err := s.builder.Check(ctx, Request{Component: "kubernetes", Version: s.version}); err != nil {
		return Identity{}, err
	}
	s.parts = map[string]Artifact{}
	inputs := []string{fmt.Sprint(nodeFormat)}
	for _, name := range nodeParts {
		req := Request{Component: name}
		if strings.HasPrefix(name, "kubernetes") {
			req.Version = s.version
		}
		part, err := s.builder.Build(ctx, req)
		if err != nil {
			return Identity{}, err
		}
		s.parts[name] = part
		content, err := part.content()
		if err != nil {
			return Identity{}, err
		}
		inputs = append(inputs, name+" "+content)
	}
	sum := sha256.Sum256([]byte(strings.Join(inputs, "\n")))
	s.tag = s.version + "-" + hex.EncodeToString(sum[:6])
	return Identity{
		Version: s.version,
		Origin:  Origin{Kind: FromReckon, Module: s.component.Module, Hash: hex.EncodeToString(sum[:])},
		Inputs:  inputs,
	}, nil
}

// content is a digest of what an entry holds: of the programs as recorded, of
// the assets as they are.
func (a Artifact) content() (string, error) {
	h := sha256.New()
	for _, b := range a.Binaries {
		fmt.Fprintln(h, b.Name, b.SHA256)
	}
	if a.Assets != "" {
		if err := hashTree(h, a.Assets); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Make puts the image together.
func (s *nodeSource) Make(ctx context.Context, dir, work string) error {
	s.meter.phase(PhaseAssemble)
	tree := image.NewTree()
	for _, step := range []func(context.Context, *image.Tree, string) error{s.addFiles, s.addPrograms, s.addSpec, s.addImages} {
		if err := step(ctx, tree, work); err != nil {
			return err
		}
	}
	base, err := s.layer("node-root", rootLayer)
	if err != nil {
		return err
	}
	top, err := tree.Layer(filepath.Join(work, "node.tar"))
	if err != nil {
		return err
	}
	img, err := image.New(v1.Config{
		// systemd looks for the first, and ends on the second only.
		Env: []string{"container=docker", image.Path}, StopSignal: "SIGRTMIN+3",
		Entrypoint: []string{"/usr/local/bin/entrypoint", "/sbin/init"},
		Labels:     map[string]string{"dev.reckon": "kind-node", "dev.reckon.kubernetes": s.version},
	}, base, top)
	if err != nil {
		return err
	}
	return writeImages(dir, map[string]v1.Image{NodeRepository + ":" + s.tag: img})
}

// layer is a layer that a part holds as a file.
func (s *nodeSource) layer(part, file string) (v1.Layer, error) {
	return image.LayerFile(filepath.Join(s.parts[part].Assets, file))
}

// kindFiles is where kind's module keeps the files of its base image.
const kindFiles = "images/base/files"

// addFiles adds kind's own files, with the modes that its Dockerfile gives them,
// and enables the services that it enables.
func (s *nodeSource) addFiles(_ context.Context, tree *image.Tree, _ string) error {
	root := filepath.Join(s.parts["kind"].Assets, filepath.FromSlash(kindFiles))
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(name, "usr/local/bin/") || strings.HasPrefix(name, "kind/bin/") {
			mode = 0o755
		}
		return tree.File(name, mode, file)
	})
	if err != nil {
		return err
	}
	for _, unit := range []string{"kubelet", "containerd", "undo-mount-hacks"} {
		tree.Link("etc/systemd/system/multi-user.target.wants/"+unit+".service", "/etc/systemd/system/"+unit+".service")
	}
	// It would register interpreters with the kernel of the host.
	tree.Link("etc/systemd/system/systemd-binfmt.service", "/dev/null")
	// The kernel's log is the host's.
	tree.Data("etc/systemd/journald.conf.d/kind.conf", 0o644, []byte("[Journal]\nReadKMsg=no\n"))
	tree.Dir("etc/kubernetes/manifests", 0o755)
	tree.Data("kind/version", 0o644, []byte(s.version))
	tree.Data("kind/manifests/default-storage.yaml", 0o644, []byte(nodeStorage))
	return nil
}

// nodeStorage is the StorageClass that kind installs. Nothing provisions for it:
// kind's own needs an image, and drills need no volumes.
const nodeStorage = `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: standard
  annotations: {storageclass.kubernetes.io/is-default-class: "true"}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
`

// nodePrograms are directories of the node and what stands there, by part.
var nodePrograms = []struct{ part, dir string }{
	{"containerd", "usr/local/bin"}, {"crictl", "usr/local/bin"}, {"runc", "usr/local/sbin"},
	{"kubernetes-node", "usr/bin"}, {"cni-plugins", "opt/cni/bin"},
}

func (s *nodeSource) addPrograms(_ context.Context, tree *image.Tree, _ string) error {
	for _, p := range nodePrograms {
		for _, b := range s.parts[p.part].Binaries {
			if b.Name == "kube-proxy" {
				continue // runs as a pod
			}
			if err := tree.File(p.dir+"/"+b.Name, 0o755, b.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

// addSpec adds the specification that every container starts from: containerd's
// default without limits on resources, and with kind's hook that hides the
// machine's identity (images/base/Dockerfile).
func (s *nodeSource) addSpec(ctx context.Context, tree *image.Tree, _ string) error {
	ctr, err := s.parts["containerd"].Path("ctr")
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, ctr, "oci", "spec").Output()
	if err != nil {
		return fmt.Errorf("ctr oci spec: %w", err)
	}
	var spec map[string]any
	if err := json.Unmarshal(out, &spec); err != nil {
		return fmt.Errorf("ctr oci spec: %w", err)
	}
	if process, ok := spec["process"].(map[string]any); ok {
		delete(process, "rlimits")
	}
	spec["hooks"] = map[string]any{"createContainer": []any{map[string]any{"path": "/kind/bin/mount-product-files.sh"}}}
	raw, err := json.MarshalIndent(spec, "", "  ")
	tree.Data("etc/containerd/cri-base.json", 0o644, raw)
	return err
}

// addImages adds the images of the control plane to the node's containerd.
func (s *nodeSource) addImages(ctx context.Context, tree *image.Tree, work string) error {
	refs, err := s.imageNames(ctx)
	if err != nil {
		return err
	}
	var archives []string
	for _, ref := range refs {
		file := filepath.Join(work, strings.NewReplacer("/", "_", ":", "_").Replace(ref)+".oci")
		if err := s.writeImage(ref, file); err != nil {
			return err
		}
		archives = append(archives, file)
	}
	return s.importImages(ctx, tree, work, archives)
}

var sandboxImage = regexp.MustCompile(`(?m)^\s*sandbox_image\s*=\s*"([^"]+)"`)

// imageNames asks kubeadm what it will ask for. The pause image is the one that
// containerd's configuration names.
func (s *nodeSource) imageNames(ctx context.Context) ([]string, error) {
	kubeadm, err := s.parts["kubernetes-node"].Path("kubeadm")
	if err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, kubeadm, "config", "images", "list", "--kubernetes-version", s.version).Output()
	if err != nil {
		return nil, fmt.Errorf("kubeadm config images list: %w", err)
	}
	refs := slices.DeleteFunc(strings.Fields(string(out)), func(ref string) bool { return repository(ref) == "pause" })
	config, err := os.ReadFile(filepath.Join(s.parts["kind"].Assets, filepath.FromSlash(kindFiles), "etc/containerd/config.toml"))
	if err != nil {
		return nil, err
	}
	pause := sandboxImage.FindSubmatch(config)
	if pause == nil {
		return nil, fmt.Errorf("kind's containerd configuration names no sandbox image")
	}
	return append(refs, string(pause[1])), nil
}

// repository is the last element of an image's name, without the tag.
func repository(ref string) string {
	last := ref[strings.LastIndex(ref, "/")+1:]
	name, _, _ := strings.Cut(last, ":")
	return name
}

// nodeImages says of what part each image is made, and where its program stands.
var nodeImages = map[string]struct{ part, path string }{
	"kube-apiserver":          {"kubernetes", "usr/local/bin/kube-apiserver"},
	"kube-controller-manager": {"kubernetes", "usr/local/bin/kube-controller-manager"},
	"kube-scheduler":          {"kubernetes", "usr/local/bin/kube-scheduler"},
	"kube-proxy":              {"kubernetes-node", "usr/local/bin/kube-proxy"},
	"etcd":                    {"etcd", "usr/local/bin/etcd"},
	"coredns":                 {"coredns", "coredns"},
	"pause":                   {"pause", "pause"},
}

// writeImage makes one image: the program on nothing, kube-proxy on the programs
// that it calls.
func (s *nodeSource) writeImage(ref, file string) error {
	of, ok := nodeImages[repository(ref)]
	if !ok {
		return fmt.Errorf("kubeadm %s wants the image %s, which reckon does not know how to make", s.version, ref)
	}
	program, err := s.parts[of.part].Path(filepath.Base(of.path))
	if err != nil {
		return err
	}
	tree := image.NewTree()
	if err := tree.File(of.path, 0o755, program); err != nil {
		return err
	}
	tree.Dir("tmp", 0o777)
	top, err := tree.Layer(file + ".layer")
	if err != nil {
		return err
	}
	layers := []v1.Layer{top}
	if repository(ref) == "kube-proxy" {
		base, err := s.layer("node-root", firewallLayer)
		if err != nil {
			return err
		}
		layers = []v1.Layer{base, top}
	}
	img, err := image.New(v1.Config{Env: []string{image.Path}, Entrypoint: []string{"/" + of.path}}, layers...)
	if err != nil {
		return err
	}
	return image.WriteOCI(file, ref, img)
}

// writeImages writes archives for docker load into an entry.
func writeImages(dir string, images map[string]v1.Image) error {
	if err := os.MkdirAll(filepath.Join(dir, "images"), 0o755); err != nil {
		return err
	}
	var list []Image
	for ref, img := range images {
		rel := filepath.Join("images", repository(ref)+".tar")
		if err := image.WriteDocker(filepath.Join(dir, rel), ref, img); err != nil {
			return err
		}
		about, err := describeImage(ref, rel, dir, img)
		if err != nil {
			return err
		}
		list = append(list, about)
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, imageList), raw, 0o644)
}
