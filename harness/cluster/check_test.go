package cluster_test

import (
	"testing"

	"reckon.dev/reckon/harness/cluster"
)

func TestImagesOfNodes(t *testing.T) {
	t.Parallel()
	for want, ok := range map[string]bool{
		"": true, "auto": true, "build": true, "kindest/node:v1.34.2": true, "localhost:5000/node": true,
		"kindest/node@sha256:" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef": true,
		"--privileged": false, "-v/:/host": false, "Kindest/Node": false, "a b": false, "node:": false, "node@sha256:1": false,
	} {
		if err := cluster.CheckNodeImage(want); (err == nil) != ok {
			t.Errorf("%q: %v", want, err)
		}
	}
}

func TestNumbersOfWorkers(t *testing.T) {
	t.Parallel()
	for n, ok := range map[int]bool{-1: false, 0: true, cluster.MaxWorkers: true, cluster.MaxWorkers + 1: false, 99: false} {
		if err := cluster.CheckWorkers(n); (err == nil) != ok {
			t.Errorf("%d: %v", n, err)
		}
	}
}
