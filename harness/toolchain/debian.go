package toolchain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"reckon.dev/reckon/harness/toolchain/image"
)

// ErrNoDebian: a Debian root file system cannot be made on this machine.
var ErrNoDebian = errors.New("no Debian root file system can be made here")

// debianSuite is the release that nodes are made of.
const debianSuite = "bookworm"

// debianFormat changes when what is kept of the root file system does.
const debianFormat = 1

// debianSource makes the root file system of nodes from Debian packages, and
// the part of it that kube-proxy needs as a file system of its own. Which
// version of each package the archive served that day is not part of the key:
// the packages are listed in the entry, and its content decides the key of what
// is made of it.
type debianSource struct{ compilation }

// Identify names suite and packages.
func (s *debianSource) Identify(context.Context) (Identity, error) {
	inputs := append([]string{debianSuite, fmt.Sprint(debianFormat)}, s.component.Packages...)
	sum := sha256.Sum256([]byte(strings.Join(inputs, " ")))
	return Identity{
		Version: s.component.Default,
		Origin:  Origin{Kind: FromDebian, Module: debianSuite, Hash: hex.EncodeToString(sum[:])},
		Inputs:  inputs,
	}, nil
}

// Make installs the packages in a scratch directory and keeps it as layers.
func (s *debianSource) Make(ctx context.Context, dir, work string) error {
	root := filepath.Join(work, "root")
	if err := s.debootstrap(ctx, root); err != nil {
		return err
	}
	assets := filepath.Join(dir, "assets")
	if err := os.MkdirAll(assets, 0o755); err != nil {
		return err
	}
	tree := image.NewTree()
	if err := tree.Root(root, unwanted); err != nil {
		return err
	}
	tree.Link("usr/sbin/init", "/usr/lib/systemd/systemd")
	if _, err := tree.Layer(filepath.Join(assets, rootLayer)); err != nil {
		return err
	}
	firewall := image.NewTree()
	if err := firewall.Programs(root, firewallPrograms, "usr/lib/*/xtables/*.so", "etc/alternatives/*ip*tables*", "etc/ethertypes", "etc/protocols", "etc/services"); err != nil {
		return err
	}
	if _, err := firewall.Layer(filepath.Join(assets, firewallLayer)); err != nil {
		return err
	}
	return s.listPackages(ctx, root, filepath.Join(assets, "packages.txt"))
}

// Layers in the entry.
const (
	rootLayer     = "root.tar"
	firewallLayer = "firewall.tar"
)

// firewallPrograms are those that kube-proxy calls, and what they call.
var firewallPrograms = []string{
	"usr/sbin/iptables", "usr/sbin/iptables-save", "usr/sbin/iptables-restore",
	"usr/sbin/ip6tables", "usr/sbin/ip6tables-save", "usr/sbin/ip6tables-restore",
	"usr/sbin/nft", "usr/sbin/conntrack", "usr/bin/kmod", "usr/sbin/modprobe",
}

// unwanted is what a node does without: package archives, documentation, and
// what tells of the machine that made it. The services are those that kind's own
// base image removes (images/base/Dockerfile, v0.33.0), since they are of no use
// in a container or reach out of it.
func unwanted(name string) bool {
	for _, pattern := range []string{
		"dev/*", "proc/*", "sys/*", "run/*", "tmp/*", "debootstrap", "etc/hostname", "etc/resolv.conf", "etc/machine-id",
		"etc/apt/sources.list", "var/cache/*", "var/lib/apt/lists/*", "var/log/*", "var/lib/dbus/machine-id", "var/lib/dpkg/*-old",
		"usr/share/doc/*", "usr/share/man/*", "usr/share/info/*", "usr/share/locale/*", "usr/share/i18n/*",
		"usr/lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service", "usr/lib/systemd/system/multi-user.target.wants/*",
		"etc/systemd/system/*.wants/*", "usr/lib/systemd/system/local-fs.target.wants/*", "usr/lib/systemd/system/basic.target.wants/*",
		"usr/lib/systemd/system/sockets.target.wants/*udev*", "usr/lib/systemd/system/sockets.target.wants/*initctl*",
	} {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

// debootstrap needs root, for the owners and devices of what it unpacks.
func (s *debianSource) debootstrap(ctx context.Context, root string) error {
	tool, err := exec.LookPath("debootstrap")
	if err != nil {
		return fmt.Errorf("%w: no debootstrap in PATH (apt-get install debootstrap)", ErrNoDebian)
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: debootstrap works for root only", ErrNoDebian)
	}
	args := []string{"--variant=minbase", "--include=" + strings.Join(s.component.Packages, ","), debianSuite, root}
	if mirror := debianMirror(ctx); mirror != "" {
		args = append(args, mirror) // without one: debootstrap's own choice
	}
	s.meter.phase(PhaseDownload)
	lines := &lineWriter{take: func(line string) bool {
		if item, ok := strings.CutPrefix(line, "I: Retrieving "); ok {
			return s.meter.download("go: downloading " + item)
		}
		if item, ok := strings.CutPrefix(line, "I: Unpacking "); ok {
			s.meter.send(PhaseUnpack, 0, 0, item)
			return true
		}
		return false
	}}
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Stdout, cmd.Stderr = lines, lines
	// In a mount namespace of its own, so that what it mounts below root goes with
	// it, however it ends: removing the directory would reach through a mount.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: debootstrap: %w: %s", ErrNoDebian, err, oneLine(lines.tail()))
	}
	return nil
}

// debianMirror is the archive that this machine's own apt uses, if it is a
// Debian of that suite; "" otherwise.
func debianMirror(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "apt-get", "indextargets", "--format", "$(REPO_URI)",
		"Created-By: Packages", "Origin: Debian", "Codename: "+debianSuite, "Component: main").Output()
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return first
}

// listPackages notes what was installed, for people and for reports.
func (s *debianSource) listPackages(ctx context.Context, root, file string) error {
	out, err := exec.CommandContext(ctx, "dpkg-query", "--admindir="+filepath.Join(root, "var/lib/dpkg"),
		"--show", "--showformat", "${Package} ${Version}\n").Output()
	if err != nil {
		return fmt.Errorf("listing the packages of the root file system: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(lines)
	return os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}
