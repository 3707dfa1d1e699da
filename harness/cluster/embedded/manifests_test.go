package embedded

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"reckon.dev/reckon/harness/cluster"
)

func TestKwokConfig(t *testing.T) {
	data, err := kwokConfig()
	if err != nil {
		t.Fatal(err)
	}
	var stages []string
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var object struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := utilyaml.Unmarshal(doc, &object); err != nil {
			t.Fatal(err)
		}
		if object.Kind == "Stage" {
			stages = append(stages, object.Metadata.Name)
		}
	}
	slices.Sort(stages)
	want := []string{"node-heartbeat-with-lease", "node-initialize", "pod-complete", "pod-delete", "pod-ready", "pod-start", "pod-unready"}
	if !slices.Equal(stages, want) {
		t.Errorf("stages %v, want %v", stages, want)
	}
	if strings.Count(string(data), cluster.ReadinessGate) < 5 {
		t.Error("the stages do not know the gate that the package cluster names")
	}
}

func TestNodes(t *testing.T) {
	seen := map[string]bool{}
	for _, i := range []int{0, 1, 255, 256, MaxNodes - 1} {
		n, err := node(i)
		if err != nil {
			t.Fatal(err)
		}
		if problems := validation.IsDNS1123Subdomain(n.Name); len(problems) > 0 {
			t.Error(problems)
		}
		for _, a := range n.Status.Addresses {
			if seen[a.Address] {
				t.Errorf("address %s twice", a.Address)
			}
			seen[a.Address] = true
		}
		if n.Status.Capacity.Pods().Value() < 1000 || n.Status.Allocatable.Cpu().IsZero() {
			t.Errorf("capacity %v", n.Status.Capacity)
		}
	}
}

func TestKwokRights(t *testing.T) {
	role, binding, err := kwokRights()
	if err != nil {
		t.Fatal(err)
	}
	if len(role.Rules) == 0 || binding.RoleRef.Name != role.Name || binding.Subjects[0].Name != kwokUser {
		t.Errorf("role %v, binding %v", role, binding)
	}
	for _, rule := range role.Rules {
		if slices.Contains(rule.Resources, "*") || slices.Contains(rule.Verbs, "*") {
			t.Errorf("too much: %v", rule)
		}
	}
}
