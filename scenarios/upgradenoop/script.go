package upgradenoop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"reckon.dev/reckon/harness/component/argorollouts"
	"reckon.dev/reckon/harness/fleet"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
)

// Steps of the script, which claims name as windows. Those of a change of the version
// have its name behind them: see leg.step.
const (
	stepDeploy  = "deploy the fleet"
	stepUpdate  = "update the fleet"
	stepPrepare = "change what others would change"
	stepCalm    = "calm"
	stepStop    = "stop for"
	stepCRDs    = "CRDs of"
	stepAccept  = "ask the CRDs of"
	stepStart   = "start"
	stepWatch   = "watch"
	stepReapply = "apply again"
	stepScale   = "one replica more"
	stepPromote = "promote the paused"
)

// Limits of waiting: they bound a run that goes wrong, none of them is a claim. A
// fleet has longer, by so much for each Rollout.
const (
	settleLimit   = 60 * time.Second
	settleForEach = 500 * time.Millisecond
	// look is the time between two looks at what was recorded already.
	look = 200 * time.Millisecond
)

// script is the script under way.
type script struct {
	*Params
	st       *stage.Stage
	fleet    *fleet.Fleet
	members  []Member
	commands argorollouts.Commands
	states   states
}

// Script brings the fleet up under the first version, changes the version, and asks
// the fleet whether it still works.
func (Scenario) Script(ctx context.Context, params any, st *stage.Stage) error {
	p := params.(*Params)
	if p.Inventory == nil {
		return errors.New("the parameters do not say what the fleet has: plan the run again")
	}
	f, err := p.read()
	if err != nil {
		return err
	}
	if f.Digest != p.Inventory.Digest {
		return fmt.Errorf("the manifests below %s are not those that the run was planned for: plan it again", p.Fleet)
	}
	last := p.legs()[len(p.legs())-1].to
	s := &script{Params: p, st: st, fleet: f, members: p.Inventory.Members, commands: argorollouts.CommandsOf(st.Client, scenario.ModelVersion(last))}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	bound := s.bindPods(ctx)
	err = s.play(ctx)
	cancel()
	return errors.Join(err, <-bound)
}

func (s *script) play(ctx context.Context) error {
	for _, act := range []func(context.Context) error{s.setUp, s.change, s.probe} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// step is one step of the stage.
func (s *script) step(ctx context.Context, name string, do func(context.Context) error) error {
	return s.st.Step(ctx, name, do)
}

func (s *script) limit() time.Duration {
	return settleLimit + time.Duration(len(s.members))*settleForEach
}

func (s *script) setUp(ctx context.Context) error {
	for _, act := range []struct {
		step string
		do   func(context.Context) error
	}{{stepDeploy, s.deploy}, {stepUpdate, s.update}, {stepPrepare, s.prepare}, {stepCalm, s.calm}} {
		if err := s.step(ctx, act.step, act.do); err != nil {
			return err
		}
	}
	return nil
}

// change puts each version in the place of the one before.
func (s *script) change(ctx context.Context) error {
	for _, l := range s.legs() {
		before := s.bodies()
		for _, act := range []struct {
			step string
			do   func(context.Context) error
		}{
			{stepStop, s.st.Controller.Stop},
			{stepCRDs, func(ctx context.Context) error { return s.st.Install(ctx, l.to) }},
			{stepAccept, func(ctx context.Context) error { s.compare(l, before); return s.ask(ctx, l) }},
			{stepStart, func(ctx context.Context) error { return s.st.Controller.Start(ctx, l.to) }},
			{stepWatch, s.watch},
		} {
			if err := s.step(ctx, l.step(act.step), act.do); err != nil {
				return err
			}
		}
	}
	return nil
}

// watch lets time go by.
func (s *script) watch(ctx context.Context) error {
	if err := s.st.Pass(ctx, s.Watch.Std()); err != nil {
		return err
	}
	return s.st.Controller.Ended()
}

// probe asks the fleet, after the last version was watched, for what it did before.
// Without a controller there is nobody to ask.
func (s *script) probe(ctx context.Context) error {
	if s.st.Controller.Ended() != nil {
		return nil
	}
	for _, act := range []struct {
		step string
		do   func(context.Context) error
	}{{stepReapply, s.reapply}, {stepScale, s.scale}, {stepPromote, s.promote}} {
		if err := s.step(ctx, act.step, act.do); err != nil {
			return err
		}
	}
	return nil
}

// ask holds every manifest against the CRDs that are there now, without a write.
func (s *script) ask(ctx context.Context, l leg) error {
	for _, ro := range s.fleet.Rollouts {
		err := s.apply(ctx, ro, client.DryRunAll)
		if err != nil && ctx.Err() == nil {
			s.st.Recorder.LogLine(logRejected)(fmt.Sprintf("%s (%s): %v", ro, ro.Place(), oneLine(err)))
		}
	}
	return ctx.Err()
}

// apply merges a manifest into what is stored, as tools do that apply what is kept in
// a repository: lists are replaced.
func (s *script) apply(ctx context.Context, o fleet.Object, opts ...client.PatchOption) error {
	body, err := json.Marshal(o.Object)
	if err != nil {
		return err
	}
	return s.st.Client.Patch(ctx, bareOf(o), client.RawPatch(types.MergePatchType, body), opts...)
}

// bareObject is an object with nothing but its name, which a client overwrites.
func bareObject(version, kind, namespace, name string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetAPIVersion(version)
	out.SetKind(kind)
	out.SetNamespace(namespace)
	out.SetName(name)
	return out
}

func bareOf(o fleet.Object) *unstructured.Unstructured {
	return bareObject(o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName())
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// reapply applies every Rollout's manifest, and waits until nothing follows any more.
func (s *script) reapply(ctx context.Context) error {
	for _, ro := range s.fleet.Rollouts {
		if err := s.apply(ctx, ro); err != nil {
			s.st.Recorder.LogLine(logRejected)(fmt.Sprintf("%s (%s): %v", ro, ro.Place(), oneLine(err)))
		}
	}
	return s.calm(ctx)
}

// scale gives every Rollout one replica more.
func (s *script) scale(ctx context.Context) error {
	for _, m := range s.members {
		v, there := s.states.of(s.st.Recorder, rolloutResource, m.Key())
		if !there || m.Scaled || m.frozen() {
			continue
		}
		body := fmt.Sprintf(`{"spec":{"replicas":%d}}`, int(size(&v))+1)
		if err := s.patch(ctx, "argoproj.io/v1alpha1", "Rollout", m.Namespace, m.Name, types.MergePatchType, body); err != nil {
			return err
		}
	}
	return s.calm(ctx)
}

// promote promotes fully whatever is not.
func (s *script) promote(ctx context.Context) error {
	awake := func(m Member) bool { return !m.frozen() }
	err := s.await(ctx, "every Rollout promoted", s.chosen(awake), func(_ Member, v *series.View) bool { return healthy(v) }, s.promotion(ctx))
	if err != nil {
		return err
	}
	return s.calm(ctx)
}

func (s *script) patch(ctx context.Context, version, kind, namespace, name string, how types.PatchType, body string) error {
	o := bareObject(version, kind, namespace, name)
	if err := s.st.Client.Patch(ctx, o, client.RawPatch(how, []byte(body))); err != nil {
		return fmt.Errorf("patching %s %s/%s: %w", kind, namespace, name, err)
	}
	return nil
}

// settled says whether a Rollout is under way to nothing.
func settled(v *series.View) bool {
	return slices.Contains([]string{"Healthy", "Paused", "Degraded"}, v.Status.Phase)
}
