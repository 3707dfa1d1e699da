package statefulset_test

import (
	"testing"

	"reckon.dev/reckon/harness/model/statefulset/modeltest"
)

func TestCorpus(t *testing.T) { modeltest.RunCorpus(t, "testdata") }
