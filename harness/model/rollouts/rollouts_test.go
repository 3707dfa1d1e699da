package rollouts_test

import (
	"testing"

	"reckon.dev/reckon/harness/model/rollouts/modeltest"
)

func TestCorpus(t *testing.T) { modeltest.RunCorpus(t, "testdata") }
