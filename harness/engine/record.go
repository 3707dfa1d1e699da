package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/klient"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/component/istio"
	"reckon.dev/reckon/harness/record"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
)

// What every run records in its namespace.
var workloads = []schema.GroupVersionResource{
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "apps", Version: "v1", Resource: "replicasets"},
	{Group: "apps", Version: "v1", Resource: "statefulsets"},
	{Group: "apps", Version: "v1", Resource: "controllerrevisions"},
	{Version: "v1", Resource: "pods"},
	{Version: "v1", Resource: "services"},
	{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
	{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
	{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"},
}

// What a run with Argo Rollouts records beside that.
var rollouts = []schema.GroupVersionResource{
	v1alpha1.RolloutGVR,
	{Group: "networking.istio.io", Version: "v1alpha3", Resource: "virtualservices"},
	{Group: "networking.istio.io", Version: "v1alpha3", Resource: "destinationrules"},
}

// What a run with several versions of it records beside that.
var upgraded = []schema.GroupVersionResource{
	{Group: "argoproj.io", Version: "v1alpha1", Resource: "analysisruns"},
	{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"},
}

// meshes are what a run records of istiod where it is made of pods and the script
// decides over it.
var meshes = []schema.GroupVersionResource{
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Version: "v1", Resource: "pods"},
	{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
	{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
}

// resources are what the run records: its namespace, or every one where the script
// makes some, and in a cluster of its own also events and leases of the whole cluster.
func (r *run) resources() []record.Resource {
	kinds := slices.Clone(workloads)
	if r.has(scenario.ArgoRollouts) {
		kinds = append(kinds, rollouts...)
	}
	if r.replaces() {
		kinds = append(kinds, upgraded...)
	}
	namespace := r.namespace
	if wide, ok := r.scenario.(scenario.Clusterwide); ok && wide.Clusterwide() {
		namespace = ""
	}
	var out []record.Resource
	for _, gvr := range kinds {
		out = append(out, record.Resource{GVR: gvr, Namespace: namespace})
	}
	if r.scripted() && r.on.Has(cluster.Kubelet) {
		for _, gvr := range meshes {
			out = append(out, record.Resource{GVR: gvr, Namespace: istio.Namespace})
		}
	}
	everywhere := ""
	if r.shares() {
		everywhere = r.namespace
	}
	return append(out,
		record.Resource{GVR: schema.GroupVersionResource{Version: "v1", Resource: "events"}, Namespace: everywhere},
		record.Resource{GVR: schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, Namespace: everywhere},
	)
}

// replaces says whether the script puts other versions in the place of Argo Rollouts.
func (r *run) replaces() bool {
	_, ok := r.scenario.(scenario.Upgrader)
	return ok && r.has(scenario.ArgoRollouts)
}

// has says whether a component is under test.
func (r *run) has(component string) bool {
	return slices.Contains(r.scenario.Components(r.on), component)
}

// Limits of the engine's own waiting.
const (
	installTimeout = 60 * time.Second
	startTimeout   = 60 * time.Second
	stopTimeout    = 15 * time.Second
	leaveTimeout   = 60 * time.Second
	collectTimeout = 30 * time.Second
	sampleInterval = time.Second
	// noticeTime is how long the death of a process may be noticed after the
	// errors that follow from it.
	noticeTime = 500 * time.Millisecond
)

// record installs the components, records while the script plays, and closes
// the recording. What goes wrong with the environment is recorded as a fault.
func (r *run) record(ctx context.Context) error {
	f, err := os.Create(r.dir.File(RecordingFile))
	if err != nil {
		return fmt.Errorf("%w: making the recording: %w", ErrInvalid, err)
	}
	defer f.Close()
	w, err := recording.NewWriter(f, r.header())
	if err != nil {
		r.fault = fmt.Errorf("the recording could not be written: %w", err)
		return fmt.Errorf("%w: %w", ErrInvalid, r.fault)
	}
	playCtx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	rec, err := record.New(record.Config{
		Writer: w, REST: r.cluster.RESTConfig(), Resources: r.resources(), Clock: r.engine.Clock, Base: r.base,
		OnFault: func(err error) { fail(err) },
	})
	if err != nil {
		return err
	}
	playErr := r.perform(playCtx, fail, rec)
	return r.close(ctx, playErr, rec, w, f)
}

// close ends the recording, down to the disk: a verdict must not outlive what it
// rests on. What kept the script from its end, an abort from outside too, is a fault
// and goes into the recording.
func (r *run) close(ctx context.Context, playErr error, rec *record.Recorder, w *recording.Writer, f *os.File) error {
	if playErr != nil {
		if r.aborted = context.Cause(ctx); r.aborted != nil {
			playErr = &partFault{"run", &AbortError{r.aborted}}
		}
		r.fault = playErr
		rec.Fault(r.faultOf(playErr))
	}
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	stopErr := rec.Stop(stopCtx)
	closeErr := w.Close(int64(rec.Now()))
	if err := errors.Join(playErr, stopErr, closeErr, f.Sync()); err != nil {
		if r.fault == nil {
			r.fault = err
		}
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}

// partFault is a fault with the name of the part that failed.
type partFault struct {
	part string
	err  error
}

func (e *partFault) Error() string { return e.part + ": " + e.err.Error() }
func (e *partFault) Unwrap() error { return e.err }

// faultOf names the part. The cluster's logs are gone when somebody reads of
// them; their copies are in the run directory.
func (r *run) faultOf(err error) (what, detail string) {
	what, detail = "run", err.Error()
	if p, ok := errors.AsType[*partFault](err); ok {
		what, detail = p.part, p.err.Error()
	}
	if host, ok := r.cluster.(cluster.Host); ok {
		detail = strings.ReplaceAll(detail, host.LogDir(), LogDir)
	}
	return what, detail
}

// perform starts the components and the recorder, and plays the script.
func (r *run) perform(ctx context.Context, fail context.CancelCauseFunc, rec *record.Recorder) error {
	go watchPart(ctx, fail, "cluster", r.cluster)
	if err := r.prepare(ctx); err != nil {
		return r.cause(ctx, &partFault{"set-up", err})
	}
	defer r.site.end()
	if err := r.site.start(ctx, fail, rec); err != nil {
		return r.cause(ctx, err)
	}
	if err := rec.Start(ctx); err != nil {
		return r.cause(ctx, &partFault{"recorder", err})
	}
	if err := r.script(ctx, fail, rec); err != nil {
		return r.cause(ctx, &partFault{"script", err})
	}
	syncCtx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if err := rec.Sync(syncCtx); err != nil {
		return r.cause(ctx, &partFault{"recorder", fmt.Errorf("the end of the run was not seen by every watch: %w", err)})
	}
	return context.Cause(ctx)
}

// cause prefers the reason for which the context was ended, such as a
// controller that died, to the error that followed from it.
func (r *run) cause(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.engine.Clock.After(noticeTime):
		return err
	}
}

// prepare installs what the components need and makes the namespace.
func (r *run) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	if err := r.site.install(ctx); err != nil {
		return err
	}
	c, err := newClient(r.cluster.RESTConfig())
	if err != nil {
		return err
	}
	return c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}})
}

// part is what a run cannot do without: a process, or the cluster as a whole.
type part interface {
	Done() <-chan struct{}
	Err() error
}

// watchPart ends the run when a part of it ends by itself. An end that was
// asked for is no error of the part.
func watchPart(ctx context.Context, fail context.CancelCauseFunc, name string, p part) {
	select {
	case <-ctx.Done():
	case <-p.Done():
		if err := p.Err(); err != nil {
			fail(&partFault{name, err})
		}
	}
}

// script plays the scenario's script with the readiness of pods in its hands.
func (r *run) script(ctx context.Context, fail context.CancelCauseFunc, rec *record.Recorder) error {
	config := r.cluster.RESTConfig()
	config.Wrap(rec.RecordCalls)
	c, err := newClient(config)
	if err != nil {
		return err
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	readiness, stop, err := r.readiness(ctx, fail, c)
	if err != nil {
		return err
	}
	defer func() { cancel(); stop() }()
	disturber := r.newDisturber(ctx, fail, rec)
	st := &stage.Stage{
		Client: c, Kube: kube, Namespace: r.namespace, On: r.on, Recorder: rec, Readiness: readiness, Clock: r.engine.Clock,
		Progress: func(step string) { r.say("%s", step); disturber.at(step) }, Versions: r.parts.versions(r.cell),
	}
	r.site.furnish(ctx, fail, rec, st)
	if err = r.scenario.Script(ctx, r.params, st); err != nil {
		cancel()
	}
	return disturber.wait(err)
}

// readiness decides over pods where scripts do, until stop returns; nil elsewhere.
func (r *run) readiness(ctx context.Context, fail context.CancelCauseFunc, c client.Client) (_ *stage.Readiness, stop func(), err error) {
	if !r.on.Has(cluster.ScriptedReadiness) {
		return nil, func() {}, nil
	}
	pods, err := kubernetes.NewForConfig(r.cluster.RESTConfig()) // calls of this are not the script's
	if err != nil {
		return nil, nil, err
	}
	readiness, done := stage.NewReadiness(c, r.engine.Clock), make(chan struct{})
	go func() {
		defer close(done)
		if err := readiness.Run(ctx, stage.InformerPods{Client: pods, Namespace: r.namespace}); err != nil {
			fail(&partFault{"readiness", err})
		}
	}()
	return readiness, func() { <-done }, nil
}

// newClient is e2e-framework's client with the types that scripts use. Rate
// limits are off: a script must not be slower than what it drills.
func newClient(config *rest.Config) (client.Client, error) {
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := errors.Join(clientscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	c, err := klient.NewControllerRuntimeClient(config, scheme)
	if err != nil {
		return nil, fmt.Errorf("making the script's client: %w", err)
	}
	return c, nil
}
