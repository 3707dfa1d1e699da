package engine

import (
	"context"
	"fmt"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/plan"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/toolchain"
)

// Parts are the built components of a cell, by name; versions that come later by
// name and version, "argo-rollouts@v1.9.2".
type Parts map[string]toolchain.Artifact

// Components that are no part of any cell's versions.
const (
	etcd = "etcd"
	kwok = "kwok"
	// trafficProgram is the program in the pods of the workload, the one that sends
	// requests to them, and the one of the proxies that connect to istiod.
	trafficProgram = "traffic"
)

// Requests lists the components that a cell needs, in the order of building. A
// cluster of containers brings its own Kubernetes, as an image that its provider
// finds or builds.
func Requests(cell plan.Cell) []toolchain.Request {
	var out []toolchain.Request
	for _, w := range wanted(cell) {
		out = append(out, w.Request)
	}
	return out
}

// want is a component to be built, and the name that it then has among the parts.
type want struct {
	part string
	toolchain.Request
}

func wanted(cell plan.Cell) []want {
	out := []want{{etcd, toolchain.Request{Component: etcd}}, {kwok, toolchain.Request{Component: kwok}}}
	inPods := cluster.Offered(cell.Provider).Has(cluster.Kubelet)
	if inPods {
		out = nil
	}
	if _, mesh := cell.Versions[scenario.Istiod]; mesh || inPods {
		out = append(out, want{trafficProgram, toolchain.Request{Component: trafficProgram}})
	}
	for _, c := range toolchain.Catalogue() {
		version, ok := cell.Versions[c.Name]
		if !ok || inPods && c.Name == scenario.Kubernetes {
			continue
		}
		for i, version := range append([]string{version}, cell.Later[c.Name]...) {
			part := c.Name
			if i > 0 {
				part = later(c.Name, version)
			}
			dir, v := plan.SplitVersion(version)
			out = append(out, want{part, toolchain.Request{Component: c.Name, Version: v, Dir: dir, Unedited: inPods}})
		}
	}
	return out
}

func later(component, version string) string { return component + "@" + version }

// partOf is the name of the part that a component of the cell is at a version.
func partOf(cell plan.Cell, component, version string) string {
	if version == cell.Versions[component] {
		return component
	}
	return later(component, version)
}

// Build builds what a cell needs, or takes it from the cache.
func (e *Engine) Build(ctx context.Context, cell plan.Cell) (Parts, error) {
	parts := Parts{}
	for _, w := range wanted(cell) {
		a, err := e.Builder.Build(ctx, w.Request)
		if err != nil {
			return nil, err
		}
		parts[w.part] = a
	}
	return parts, nil
}

// Path is the path of a program of a component.
func (p Parts) Path(component, program string) (string, error) {
	a, ok := p[component]
	if !ok {
		return "", fmt.Errorf("component %s was not built", component)
	}
	return a.Path(program)
}

// Components are the header's lines about what takes part in a run of the cell.
func (p Parts) Components(cell plan.Cell) []recording.Component {
	var out []recording.Component
	for _, w := range wanted(cell) {
		a, ok := p[w.part]
		if !ok {
			continue
		}
		c := recording.Component{Name: a.Component, Version: a.Version, Base: a.Origin.Base, Source: a.Origin.Kind, Digests: map[string]string{}}
		for _, b := range a.Binaries {
			if p.ran(a.Component, b.Name) {
				c.Digests[b.Name] = "sha256:" + b.SHA256
			}
		}
		for _, edit := range a.Origin.Edits {
			c.Edits = append(c.Edits, fmt.Sprintf("%s: %s → %s (%s)", edit.File, edit.Old, edit.New, edit.Why))
		}
		out = append(out, c)
	}
	if cluster.Offered(cell.Provider).Has(cluster.Kubelet) {
		out = append(out, recording.Component{Name: scenario.Kubernetes, Version: cell.Versions[scenario.Kubernetes], Source: fromNodeImage})
	}
	return out
}

// fromNodeImage is the source of a Kubernetes that nodes bring along.
const fromNodeImage = "node image"

// ran says whether a program of a component takes part: Kubernetes' own
// controller manager does not where there is one of another version.
func (p Parts) ran(component, program string) bool {
	_, own := p[scenario.ControllerManager]
	return !own || component != scenario.Kubernetes || program != scenario.ControllerManager
}

// versions are what scripts and models see: releases, and for a directory the
// release that it is based on.
func (p Parts) versions(cell plan.Cell) map[string]string {
	h := recording.Header{Components: p.Components(cell)}
	out := h.ModelVersions()
	if _, ok := out[scenario.Kubernetes]; !ok {
		out[scenario.Kubernetes] = cell.Versions[scenario.Kubernetes]
	}
	return out
}
