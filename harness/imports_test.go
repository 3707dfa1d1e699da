package harness_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "reckon.dev/reckon/"

// pure packages decide from what was recorded: no cluster, no network, no clock.
var pure = []string{
	"harness/recording", "harness/traffic", "harness/series", "harness/model/...", "harness/judge", "harness/rank", "harness/compare", "harness/gate", "harness/bisect", "harness/report", "harness/strict", "harness/nearest",
}

// cluster are packages that reach a cluster or a network.
var cluster = []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "net/http"}

var framework = []string{"github.com/onsi/ginkgo", "github.com/onsi/gomega", "testing"}

// pkg is what `go list` says about one package of the module.
type pkg struct {
	ImportPath, Dir                                   string
	GoFiles, Imports, TestImports, XTestImports, Deps []string
}

// packages lists the module once.
var packages = sync.OnceValues(func() (map[string]pkg, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports,TestImports,XTestImports,Deps", "./...")
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = "..", &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	all := map[string]pkg{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all[strings.TrimPrefix(p.ImportPath, module)] = p
	}
})

// matching returns the packages of a pattern such as harness/model/...
func matching(t *testing.T, pattern string) []pkg {
	t.Helper()
	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	root, below := strings.CutSuffix(pattern, "/...")
	var out []pkg
	for path, p := range all {
		if path == root || below && within(path, root) || pattern == "..." {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		t.Fatalf("no package %s", pattern)
	}
	return out
}

// within says whether a package is the root or below it.
func within(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// refuse reports what the packages of a pattern import below the roots, through
// however many others.
func refuse(t *testing.T, pattern string, roots []string) {
	t.Helper()
	for _, p := range matching(t, pattern) {
		for _, dep := range p.Deps {
			if slices.ContainsFunc(roots, func(root string) bool { return within(dep, root) }) {
				t.Errorf("%s reaches %s", p.ImportPath, dep)
			}
		}
	}
}

func TestPurePackagesReachNoCluster(t *testing.T) {
	t.Parallel()
	for _, pattern := range pure {
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			refuse(t, pattern, append(slices.Clone(cluster), framework[:2]...))
		})
	}
}

// TestTheEngineNeedsNoTestFramework: but for Helm, whose packages import testing
// for a question that they ask of it (helm.sh/helm/v4/internal/version, v4.3.2).
func TestTheEngineNeedsNoTestFramework(t *testing.T) {
	t.Parallel()
	imports := importsBelow(t, "./engine")
	seen := map[string]bool{}
	var visit func(path string)
	visit = func(path string) {
		if seen[path] || within(path, "helm.sh/helm/v4") {
			return
		}
		seen[path] = true
		for _, dep := range imports[path] {
			if slices.ContainsFunc(framework, func(root string) bool { return within(dep, root) }) {
				t.Errorf("harness/engine reaches %s by way of %s", dep, path)
				continue
			}
			visit(dep)
		}
	}
	if visit(module + "harness/engine"); len(seen) < 100 {
		t.Fatalf("only %d packages were visited", len(seen))
	}
}

// importsBelow lists what each package imports that a package of the module needs.
func importsBelow(t *testing.T, pkg string) map[string][]string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Imports", pkg).Output()
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string][]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return imports
		} else if err != nil {
			t.Fatal(err)
		}
		imports[p.ImportPath] = p.Imports
	}
}

// TestGinkgoStaysInItsPlace: only the suite speaks Ginkgo, and the test by
// which `go test ./drills` does.
func TestGinkgoStaysInItsPlace(t *testing.T) {
	t.Parallel()
	ginkgo := func(path string) bool { return within(path, "github.com/onsi/ginkgo") }
	for _, p := range matching(t, "...") {
		if slices.ContainsFunc(p.Imports, ginkgo) && p.ImportPath != module+"harness/suite" {
			t.Errorf("%s imports Ginkgo", p.ImportPath)
		}
		tests := slices.ContainsFunc(p.TestImports, ginkgo) || slices.ContainsFunc(p.XTestImports, ginkgo)
		if tests && p.ImportPath != module+"harness/suite" && p.ImportPath != module+"drills" {
			t.Errorf("a test of %s imports Ginkgo", p.ImportPath)
		}
	}
}

// TestPurePackagesAskNoClock: what is decided from a recording does not depend
// on when, where or how often it is decided.
func TestPurePackagesAskNoClock(t *testing.T) {
	t.Parallel()
	forbidden := map[string][]string{
		"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"},
		"os":   {"Getenv", "Environ", "LookupEnv", "Hostname", "Getpid"},
	}
	files := 0
	for _, pattern := range pure {
		for _, p := range matching(t, pattern) {
			for _, name := range p.GoFiles {
				files++
				for _, call := range uses(t, filepath.Join(p.Dir, name), forbidden) {
					t.Error(call)
				}
			}
		}
	}
	if files < 20 {
		t.Errorf("only %d files were looked at", files)
	}
}

// uses lists where a file names one of the functions, by package path.
func uses(t *testing.T, file string, functions map[string][]string) []string {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{} // local name of a package to its path
	for _, spec := range parsed.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		local := filepath.Base(path)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		names[local] = path
	}
	var out []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && slices.Contains(functions[names[pkg.Name]], sel.Sel.Name) {
				out = append(out, set.Position(sel.Pos()).String()+": "+pkg.Name+"."+sel.Sel.Name)
			}
		}
		return true
	})
	return out
}
