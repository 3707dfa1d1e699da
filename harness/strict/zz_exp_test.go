package strict_test

import (
	"fmt"
	"strings"
	"testing"

	"reckon.dev/reckon/drills"
	"reckon.dev/reckon/harness/plan"
)

func TestExp(t *testing.T) {
	head := "apiVersion: reckon/v1\nkind: Drill\nmetadata:\n  name: d\n"
	sc := func(s string) string { return head + "spec:\n  scenarios:\n  - name: rollback-window\n" + s }
	docs := []string{
		head + "spek: {}\n",
		sc("    parms: {}\n"),
		sc("    params: {ramp: 1}\n"),
		sc("    params: {ramp: 1x}\n"),
		sc("    params: {ramp: [1s]}\n"),
		sc("    params: {steps: 5}\n"),
		sc("    params: {steps: [{setWeight: 5, foo: 1}]}\n"),
		sc("    params: {steps: [{setWeigt: 5}]}\n"),
		sc("    params:\n      steps:\n      - 5\n      - setWeight: x\n"),
		sc("    params: {steps: [{pause: {duration: 1}}]}\n"),
		sc("    params: {steps: [{pause: {duration: 1500ms}}]}\n"),
		sc("    params: {steps: [{pause: {}}]}\n"),
		sc("    params: {steps: [pause forever, pause 0s]}\n"),
		sc("    params: {steps: [1.5]}\n"),
		sc("    params: {steps: [null]}\n"),
		sc("    params: {steps: null}\n"),
		sc("    params: {replicas: abc}\n"),
		sc("    params: {replicas: 1.5}\n"),
		sc("    params: {replicas: \"5\"}\n"),
		sc("    params: {replicas: 99999999999999999999999}\n"),
		sc("    params: {replicas: 0x10}\n"),
		sc("    params: {replicas: .nan}\n"),
		sc("    params: {replicas: .inf}\n"),
		sc("    params: {replicas: }\n"),
		sc("    params: {routing: 5}\n"),
		sc("    params: {routing: svc}\n"),
		sc("    params: [1]\n"),
		sc("    params: {dynamicStableScale: yes}\n"),
		sc("    guards: {overload: high}\n"),
		sc("    guards: {overload: .nan}\n"),
		sc("    guards: {overload: -1}\n"),
		sc("    matrix: {replicas: 5}\n"),
		sc("    matrix: {replicas: [a]}\n"),
		sc("    matrix: {argo-rollouts: [1.8]}\n"),
		sc("    matrix: {argo-rollouts: [null]}\n"),
		sc("    matrix: {argo-rollouts: [v1.8.2, v1.8.2]}\n"),
		sc("    name: again\n"),
		sc("    matrix: {replicas: [1], replicas: [2]}\n"),
		sc("    params: {replicas: 1, replicas: 2}\n"),
		sc("    params: &p {replicas: 1}\n  - name: rollback-window\n    params: *p\n"),
		sc("    params: &p {replicas: 1}\n  - name: rollback-window\n    params: {<<: *p, ramp: 2s}\n"),
		sc("    params: {replicas: &r 5, minPodsPerReplicaSet: *r}\n"),
		sc("    params: {replicas: *nope}\n"),
		sc("    params: {? [a, b] : 5}\n"),
		sc("    params: {steps: [!!int \"5\"]}\n"),
		sc("    params: {routing: !foo services}\n"),
		sc("    params: {1: 5}\n"),
		sc("    params: {\"replicas\": 4}\n"),
		head + "spec: 5\n",
		head + "spec: null\n",
		head + "spec:\n",
		head + "spec: [\n",
		head + "\tspec: x\n",
		"",
		"# only a comment\n",
		"---\n---\n",
		"a: 1\n---\nb: 2\n",
		"null\n",
		"hello\n",
		"5",
		"[]",
		"{}",
		strings.Repeat("[", 5000),
		strings.Repeat("{a: ", 5000),
		"a: &a [*a]\n",
		"apiVersion: &a {x: *a}\n",
		sc("    params: {steps: |\n      5\n      }\n"),
		sc("    params: {routing: \"a\\nb\"}\n"),
		sc("    params: {ramp: \"a\\nb\"}\n"),
		sc("    params: {\"a\\nb\": 1}\n"),
		sc("    params:\n      ramp: |\n        a\n        b\n"),
		head + "\"x\\ny\": 1\n",
		"a:\n  - b\n c: d\n",
		"a: 'x\n",
		"a: \"x\n",
		"%YAML 9\n---\na: 1",
		"\xff\xfe",
		sc("    params:\n      steps:\n      - 5\n      - {pause: {duration: 1s}}\n      - {pauze: {}}\n"),
		sc("    params: {scaleDownDelaySeconds: 0}\n"),
		head + "spec:\n  repeat: 0\n  scenarios: [{name: rollback-window}]\n",
		head + "spec:\n  repeat: null\n  scenarios: [{name: rollback-window}]\n",
		head + "spec:\n  gate: {claims: warn}\n  scenarios: [{name: rollback-window}]\n",
		head + "spec:\n  gate: null\n  scenarios: [null]\n",
		head + "spec:\n  cluster: {provider: kind, nodes: 5}\n  scenarios: [{name: rollback-window}]\n",
		head + "spec:\n  cluster: {nodes: 0}\n  scenarios: [{name: rollback-window}]\n",
	}
	for i, doc := range docs {
		func() {
			defer func() {
				if r := recover(); r != nil {
					fmt.Printf("%d PANIC %v\n", i, r)
				}
			}()
			d, err := drills.Load("f", []byte(doc))
			var p *plan.Plan
			if err == nil {
				p, err = plan.New(d, plan.Overrides{})
			}
			tail := strings.TrimPrefix(doc, head+"spec:\n  scenarios:\n  - name: rollback-window\n")
			if len(tail) > 80 {
				tail = tail[:80]
			}
			if err != nil {
				fmt.Printf("%d %q\n     => %s\n", i, tail, err)
			} else {
				fmt.Printf("%d %q\n     OK %d\n", i, tail, len(p.Cells))
				for _, c := range p.Cells { fmt.Printf("        %s %s\n", c.Name, c.Params) }
			}
		}()
	}
}
