// Package fleet reads the manifests of somebody's Rollouts and of what they refer
// to: a directory of YAML as it is kept in a repository, Helm and Kustomize having
// rendered it. Nothing is dropped without a word: what cannot be read, is of a kind
// that is not loaded or lacks what it refers to is listed with its file and line.
package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Object is a manifest with its place.
type Object struct {
	*unstructured.Unstructured
	File string
	// Line is that on which its document begins, from 1.
	Line int
}

// Place is such as "shop/cart.yaml:12".
func (o Object) Place() string { return fmt.Sprintf("%s:%d", o.File, o.Line) }

// String names the object: "Rollout shop/cart".
func (o Object) String() string {
	if o.GetNamespace() == "" {
		return o.GetKind() + " " + o.GetName()
	}
	return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}

// Remark is something that a reader must know of a place.
type Remark struct {
	Place string `json:"place"`
	Text  string `json:"text"`
}

func (r Remark) String() string { return r.Place + ": " + r.Text }

// Fleet is what a directory holds.
type Fleet struct {
	Rollouts []Object
	// Others are what is loaded before the Rollouts, in that order.
	Others []Object
	// LeftOut are objects of known kinds that no Rollout needs on simulated pods.
	LeftOut []Remark
	// Unknown are objects of kinds that are not loaded, whatever they are.
	Unknown []Remark
	// Problems are what could not be read, objects that are there twice, and references
	// that lead nowhere.
	Problems []Remark
	// Digest identifies the objects that are loaded, with their places.
	Digest string
}

// extensions of the files that are read.
var extensions = []string{".yaml", ".yml", ".json"}

// Read reads all manifests below a directory, files and documents in order. Objects
// without a namespace get the given one. The error is for a directory that cannot
// be read or holds no Rollout; what is wrong with single documents is a Problem.
func Read(fsys fs.FS, namespace string) (*Fleet, error) {
	var all []Object
	f := &Fleet{}
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		if entry.IsDir() || !slices.Contains(extensions, strings.ToLower(path.Ext(name))) {
			return nil
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		objects, problems := parse(name, string(text))
		all, f.Problems = append(all, objects...), append(f.Problems, problems...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the fleet: %w", err)
	}
	return f.of(all, namespace)
}

// Of is a fleet of objects that were made and not read.
func Of(objects []*unstructured.Unstructured, namespace string) (*Fleet, error) {
	all := make([]Object, len(objects))
	for i, o := range objects {
		all[i] = Object{Unstructured: o, File: "generated", Line: i + 1}
	}
	return (&Fleet{}).of(all, namespace)
}

func (f *Fleet) of(all []Object, namespace string) (*Fleet, error) {
	f.sort(all, namespace)
	if len(f.Rollouts) == 0 {
		return nil, fmt.Errorf("the fleet has no Rollout: expected manifests of kind Rollout in files that end with %s%s", strings.Join(extensions, ", "), f.first())
	}
	f.Digest = digest(f.Others, f.Rollouts)
	return f, nil
}

// first is the first problem, for an error that has no other cause to tell.
func (f *Fleet) first() string {
	if len(f.Problems) == 0 {
		return ""
	}
	return "; the first of " + fmt.Sprint(len(f.Problems)) + " problems is " + f.Problems[0].String()
}

func digest(lists ...[]Object) string {
	sum := sha256.New()
	for _, objects := range lists {
		for _, o := range objects {
			raw, err := json.Marshal(o.Object)
			if err != nil {
				panic(err) // was read from YAML, and so can be written
			}
			fmt.Fprintf(sum, "%s %s\n", o.Place(), raw)
		}
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}
