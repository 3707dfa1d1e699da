package deployment_test

import (
	"testing"

	"reckon.dev/reckon/harness/model/deployment/modeltest"
)

func TestCorpus(t *testing.T) { modeltest.RunCorpus(t, "testdata") }
