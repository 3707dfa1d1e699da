package stage

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reckon.dev/reckon/harness/record"
)

// cutLimit bounds the wait for the API server to end the watches of a changed CRD's
// objects. It waits a second for requests under way, and as long as there are any
// (apiextensions-apiserver pkg/apiserver/customresource_handler.go:565, v0.37.2). A cut
// that comes later still leaves what it could hide inconclusive.
const cutLimit = 30 * time.Second

// Install puts in place what a release of the controller needs before it starts, and waits
// until the watches of the CRDs that this changed are served anew: the cuts then lie
// before the next step.
func (s *Stage) Install(ctx context.Context, version string) error {
	before, err := s.generations(ctx)
	if err != nil {
		return err
	}
	renewals := map[string]func(context.Context) error{}
	for crd := range before {
		renewed, err := s.Recorder.Renewal(crd)
		if errors.Is(err, record.ErrNotRecorded) {
			continue
		}
		renewals[crd] = renewed
	}
	if err := s.Controller.Install(ctx, version); err != nil {
		return err
	}
	after, err := s.generations(ctx)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, cutLimit)
	defer cancel()
	for crd, renewed := range renewals {
		if after[crd] == before[crd] {
			continue
		}
		if err := renewed(limited); err != nil && limited.Err() == nil {
			return err
		}
	}
	return ctx.Err()
}

// generations are those of the specs of all CRDs, by name, which is that of their
// resource as well.
func (s *Stage) generations(ctx context.Context) (map[string]int64, error) {
	list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinitionList"}}
	if err := s.Client.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing the CRDs: %w", err)
	}
	out := map[string]int64{}
	for _, crd := range list.Items {
		out[crd.Name] = crd.Generation
	}
	return out, nil
}
