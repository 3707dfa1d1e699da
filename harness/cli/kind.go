package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/cluster/embedded"
	"reckon.dev/reckon/harness/cluster/kind"
	"reckon.dev/reckon/harness/engine"
)

// kindDir holds kind clusters, each in a directory of its own. An embedded
// cluster cannot have its name.
func (a *app) kindDir() (string, error) {
	clusters, err := a.clustersDir()
	return filepath.Join(clusters, ".kind"), err
}

// providers are all that may have clusters here.
func (a *app) providers() ([]cluster.Provider, error) {
	clusters, err := a.clustersDir()
	if err != nil {
		return nil, err
	}
	kinds, err := a.kindDir()
	return []cluster.Provider{
		&embedded.Provider{Config: embedded.Config{Root: clusters}}, &kind.Provider{Config: kind.Config{Root: kinds}},
	}, err
}

func (a *app) kindProvider(_ context.Context, f upFlags, st *status) (cluster.Provider, error) {
	root, err := a.kindDir()
	if err != nil {
		return nil, usage(err)
	}
	b, err := a.builder(st)
	if err != nil {
		return nil, usage(err)
	}
	return engine.Kind(root, b, f.version, f.nodeImage, func(step string) { st.line("%s", step) }), nil
}

// kindFindings are what real clusters need beyond what all drills need.
func (a *app) kindFindings(ctx context.Context) []finding {
	root, err := a.kindDir()
	if err != nil {
		return []finding{{what: err.Error()}}
	}
	var out []finding
	for _, f := range kind.Examine(ctx, root, 1) {
		out = append(out, finding{ok: f.OK, optional: true, what: fmt.Sprintf("kind: %s", f.What)})
	}
	return out
}

// nodeBuild says whether a node image can be built here.
func nodeBuild(ctx context.Context) finding {
	var missing []string
	for _, tool := range []string{"debootstrap", "gcc", "pkg-config"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing, tool)
		}
	}
	err := exec.CommandContext(ctx, "pkg-config", "--exists", "libseccomp").Run()
	if ctx.Err() != nil {
		return finding{optional: true, what: fmt.Sprintf("kind: whether a node image can be built is not known: pkg-config: %v", context.Cause(ctx))}
	}
	if err != nil {
		missing = append(missing, "libseccomp-dev")
	}
	if os.Geteuid() != 0 {
		missing = append(missing, "the rights of root")
	}
	if len(missing) > 0 {
		return finding{optional: true, what: "kind: a node image cannot be built, for want of " + strings.Join(missing, ", ") +
			" (Debian packages of these names): only images that the engine has or can pull"}
	}
	return finding{ok: true, optional: true, what: "kind: a node image can be built (reckon build kind-node)"}
}
