package kind

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"reckon.dev/reckon/harness/filelock"
)

// networkLabel marks networks of ours.
const networkLabel = "dev.reckon.network"

// networkName is that of all clusters of a root.
func networkName(root string) string {
	sum := sha256.Sum256([]byte(root))
	return fmt.Sprintf("reckon-%x", sum[:4])
}

// networkVariable is how kind is told of another network than its own. It has
// none for nerdctl.
var networkVariable = map[string]string{
	"docker": "KIND_EXPERIMENTAL_DOCKER_NETWORK", "podman": "KIND_EXPERIMENTAL_PODMAN_NETWORK",
}

// gate lets clusters of one root be made at a time in this process, any number
// of them: an environment variable is all that kind listens to.
type gate struct {
	mu    sync.Mutex
	free  sync.Cond
	name  string
	users int
}

var network = func() *gate {
	g := &gate{}
	g.free.L = &g.mu
	return g
}()

// enter waits until no other name is in use and sets the variable.
func (g *gate) enter(variable, name string) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.users > 0 && g.name != name {
		g.free.Wait()
	}
	if err := os.Setenv(variable, name); err != nil {
		return nil, err
	}
	g.name = name
	g.users++
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.users--
		g.free.Broadcast()
	}), nil
}

// networkLock is shared while nodes are made, and held alone to take the network away.
func networkLock(root string) string { return filepath.Join(root, ".network.lock") }

// useNetwork makes the network if need be and keeps it from being removed until
// the nodes are in it and release is called.
func (e engine) useNetwork(ctx context.Context, root string) (release func(), err error) {
	variable := networkVariable[e.name]
	if variable == "" {
		return func() {}, nil
	}
	name := networkName(root)
	lock, err := filelock.Share(networkLock(root))
	if err != nil {
		return nil, err
	}
	leave, err := network.enter(variable, name)
	if err != nil {
		lock.Release()
		return nil, err
	}
	release = sync.OnceFunc(func() { leave(); lock.Release() })
	if err := e.makeNetwork(ctx, root, name); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

func (e engine) makeNetwork(ctx context.Context, root, name string) error {
	if _, err := e.run(ctx, "network", "inspect", name); err == nil {
		return nil
	}
	_, err := e.run(ctx, "network", "create", "--driver", "bridge", "--label", networkLabel+"="+root, name)
	if err != nil && strings.Contains(err.Error(), "already exists") { // another was faster
		return nil
	}
	return err
}

// dropNetwork removes the network of a root if it is ours and no cluster uses
// it, and says whether it did.
func (e engine) dropNetwork(ctx context.Context, root string) (bool, error) {
	if _, err := os.Stat(root); errors.Is(err, os.ErrNotExist) {
		return false, nil // nothing was ever made
	}
	lock, err := filelock.Try(networkLock(root))
	if lock == nil || err != nil { // without an error something is being made
		return false, err
	}
	defer lock.Release()
	out, err := e.run(ctx, "network", "ls", "--quiet", "--filter", "label="+networkLabel+"="+root)
	if err != nil || out == "" {
		return false, err
	}
	if _, err := e.run(ctx, append([]string{"network", "rm"}, strings.Fields(out)...)...); err != nil {
		if strings.Contains(err.Error(), "active endpoints") || strings.Contains(err.Error(), "in use") || strings.Contains(err.Error(), "not found") {
			return false, nil
		}
		return false, err
	}
	return true, nil
}
