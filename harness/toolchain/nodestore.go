package toolchain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"reckon.dev/reckon/harness/toolchain/image"
)

// containerdConfig is for a containerd that only ever imports: no plugin that
// would reach for the host's networks, cgroups or file systems. The sockets are
// named by way of the working directory, since their path may have only 108 bytes.
const containerdConfig = `version = 3
root = "store"
state = "run"
disabled_plugins = [
  "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri", "io.containerd.nri.v1.nri",
  "io.containerd.snapshotter.v1.overlayfs", "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.erofs",
  "io.containerd.internal.v1.opt", "io.containerd.internal.v1.tracing", "io.containerd.tracing.processor.v1.otlp",
]
[grpc]
  address = "/proc/self/cwd/c.sock"
[ttrpc]
  address = "/proc/self/cwd/t.sock"
`

// importImages lets the node's own containerd, run here for a moment, import the
// archives, and adds its store to the tree. Nothing is unpacked: nodes do that
// when they start the first container of an image.
func (s *nodeSource) importImages(ctx context.Context, tree *image.Tree, work string, archives []string) error {
	dir := filepath.Join(work, "containerd")
	if err := os.Mkdir(dir, 0o711); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(containerdConfig), 0o600); err != nil {
		return err
	}
	err := s.withContainerd(ctx, dir, func(ctx context.Context) error { return s.importAll(ctx, dir, archives) })
	if err != nil {
		return err
	}
	return addStore(tree, filepath.Join(dir, "store"))
}

// withContainerd calls do while a containerd runs in dir.
func (s *nodeSource) withContainerd(ctx context.Context, dir string, do func(context.Context) error) error {
	program, err := s.parts["containerd"].Path("containerd")
	if err != nil {
		return err
	}
	lines := &lineWriter{}
	cmd := exec.Command(program, "--config", "config.toml", "--log-level", "warn")
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = lines, lines
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- do(ctx) }()
	select {
	case err = <-result:
	case early := <-ended:
		cancel()
		<-result
		return fmt.Errorf("containerd ended by itself: %v: %s", early, oneLine(lines.tail()))
	}
	_ = cmd.Process.Signal(syscall.SIGTERM) // it closes its database
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		_ = cmd.Process.Kill()
		return errors.Join(err, errors.New("containerd did not end when asked"))
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (s *nodeSource) importAll(ctx context.Context, dir string, archives []string) error {
	ctr, err := s.parts["containerd"].Path("ctr")
	if err != nil {
		return err
	}
	if err := await(ctx, filepath.Join(dir, "c.sock")); err != nil {
		return err
	}
	for _, archive := range archives {
		s.meter.send(PhaseAssemble, 0, 0, filepath.Base(archive))
		cmd := exec.CommandContext(ctx, ctr, "--address", "/proc/self/cwd/c.sock", "--namespace", "k8s.io",
			"images", "import", "--local", "--no-unpack", archive)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("ctr images import %s: %w: %s", filepath.Base(archive), err, oneLine(string(out)))
		}
	}
	return nil
}

// await waits for a socket to be there.
func await(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("containerd did not open its socket within a minute"))
	defer cancel()
	for {
		if _, err := os.Stat(socket); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// addStore adds content and metadata; the rest of the store is empty or made anew.
func addStore(tree *image.Tree, store string) error {
	return filepath.WalkDir(store, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(store, file)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(name, "io.containerd.content.v1.content/blobs/") && name != "io.containerd.metadata.v1.bolt/meta.db" {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return tree.File("var/lib/containerd/"+name, info.Mode(), file)
	})
}
