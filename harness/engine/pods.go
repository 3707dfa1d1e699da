package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/component/argorollouts"
	"reckon.dev/reckon/harness/component/incluster"
	"reckon.dev/reckon/harness/component/istio"
	"reckon.dev/reckon/harness/model/kubeproxy"
	"reckon.dev/reckon/harness/record"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/harness/toolchain"
)

// podSite runs components as pods of the cluster: what is cluster-wide once, for
// all runs on it, and a controller of its own for each run, which looks after the
// run's namespace only.
type podSite struct {
	run    *run
	client *incluster.Client
	images map[string]toolchain.Image // by component
	mesh   *controlPlane              // nil where the script does not decide over istiod

	watching context.Context // ends with end
	stop     context.CancelFunc
	logs     sync.WaitGroup
}

var _ site = (*podSite)(nil)

// userOf is who a component's program runs as in a pod, if it does. Ours is nobody.
func userOf(component string) (string, bool) {
	users := map[string]string{scenario.ArgoRollouts: argorollouts.User, scenario.Istiod: istio.User, trafficProgram: "65532"}
	user, ok := users[component]
	return user, ok
}

// equipTimeout is far beyond what installing Istio takes on a busy machine.
const equipTimeout = 4 * time.Minute

// equip loads the images and installs Istio and the CRDs.
func (s *podSite) equip(ctx context.Context, c cluster.Cluster) error {
	ctx, cancel := context.WithTimeoutCause(ctx, equipTimeout, fmt.Errorf("not equipped within %s", equipTimeout))
	defer cancel()
	loader, ok := c.(cluster.ImageLoader)
	if !ok {
		return fmt.Errorf("provider %s cannot run images", c.Provider())
	}
	if err := s.load(ctx); err != nil {
		return err
	}
	var archives []string
	for _, img := range s.images {
		archives = append(archives, img.Path)
	}
	s.run.say("loading %d images", len(archives))
	if err := loader.LoadImages(ctx, archives...); err != nil {
		return err
	}
	if err := s.installIstio(ctx, c); err != nil {
		return err
	}
	if !s.run.has(scenario.ArgoRollouts) {
		return nil
	}
	return argorollouts.Install(ctx, c.RESTConfig(), s.run.parts[scenario.ArgoRollouts].Assets, argorollouts.WithoutIstio())
}

func (s *podSite) installIstio(ctx context.Context, c cluster.Cluster) error {
	if !s.run.has(scenario.Istiod) {
		return nil
	}
	s.run.say("installing Istio %s", s.run.cell.Versions[scenario.Istiod])
	_, err := istio.Install(ctx, istio.Config{
		REST: c.RESTConfig(), Assets: s.run.parts[scenario.Istiod].Assets, Image: s.images[scenario.Istiod].Ref,
	})
	return err
}

// load finds the images that the cell's components run as, once in a run: one that
// equips a cluster needs them before its own components do.
func (s *podSite) load(ctx context.Context) error {
	if s.images != nil {
		return nil
	}
	images := map[string]toolchain.Image{}
	for part, artifact := range s.run.parts {
		user, ok := userOf(artifact.Component)
		if !ok {
			continue
		}
		var err error
		if images[part], err = s.run.engine.Builder.Image(ctx, artifact, toolchain.ImageSpec{User: user}); err != nil {
			return fmt.Errorf("the image of %s: %w", part, err)
		}
	}
	s.images = images
	return nil
}

func (s *podSite) install(ctx context.Context) (err error) {
	if err := s.load(ctx); err != nil {
		return err
	}
	s.client, err = incluster.New(s.run.cluster.RESTConfig())
	return err
}

// start keeps an eye on istiod and starts the run's own controller.
func (s *podSite) start(ctx context.Context, fail context.CancelCauseFunc, rec *record.Recorder) error {
	s.watching, s.stop = context.WithCancel(ctx)
	if err := s.istiod(fail, rec); err != nil {
		return &partFault{istio.Name, err}
	}
	if !s.run.has(scenario.ArgoRollouts) {
		return nil
	}
	if err := s.controller(ctx, fail, rec); err != nil {
		return &partFault{argorollouts.Name, err}
	}
	return nil
}

// istiod is in the script's hands, or an eye is kept on it.
func (s *podSite) istiod(fail context.CancelCauseFunc, rec *record.Recorder) (err error) {
	if s.run.scripted() {
		s.mesh, err = s.controlPlane(fail, rec)
		return err
	}
	return s.watchIstiod(rec)
}

// controlPlane is the istiod that is installed, and proxies in pods.
func (s *podSite) controlPlane(fail context.CancelCauseFunc, rec *record.Recorder) (*controlPlane, error) {
	r := s.run
	config := r.cluster.RESTConfig()
	config.QPS = -1
	config.Wrap(rec.RecordCalls)
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	installed, err := istio.Installed(istio.Config{REST: r.cluster.RESTConfig()})
	if err != nil {
		return nil, err
	}
	if err := s.sampleThrottling(rec); err != nil {
		return nil, err
	}
	all := r.newProxies(s.watching, fail, rec)
	all.fleet = &fleetPods{proxies: all, client: s.client, image: s.images[trafficProgram].Ref, follow: func(of incluster.Container) {
		s.follow(fail, rec, kubeproxy.Component, of, func(line string) bool {
			_, ok := kubeproxy.Parse(line, r.base)
			return ok
		})
	}}
	pulse := newPulse(r.engine.Clock)
	held, err := istio.Hold(s.watching, installed, istio.DeploymentConfig{
		Kube: kube, Chart: s.chart, Metrics: installed.Metrics, Clock: r.engine.Clock, Observer: r.observer(fail, rec, pulse, func([]istio.Endpoint) {}),
	})
	if err != nil {
		return nil, err
	}
	return &controlPlane{proxies: all, pulse: pulse, istiods: held}, nil
}

// throttleInterval is about half of that at which kubelets read cgroups (10 s,
// pkg/kubelet/cadvisor/cadvisor_linux.go, v1.37.2).
const throttleInterval = 5 * time.Second

// sampleThrottling samples what the cgroups of istiod's containers say of periods
// and of those in which they were throttled, as kubelets read it (cpu.stat).
func (s *podSite) sampleThrottling(rec *record.Recorder) error {
	nodes, err := s.client.Kube.CoreV1().Nodes().List(s.watching, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		machine(rec, int(node.Status.Capacity.Cpu().Value())) // the same of each: nodes are containers of one
		at := s.client.NodeEndpoint(node.Name, "metrics/cadvisor")
		go rec.Sample(s.watching, record.Metrics("cgroups/"+node.Name, throttleInterval, record.Page{
			URL: at.URL, HTTP: at.HTTP, Prefixes: []string{"container_cpu_cfs_", recording.CPUUse}, Only: map[string]string{"namespace": istio.Namespace},
			Labels: map[string]string{"node": node.Name},
		}))
	}
	return nil
}

// chart has the charts and the image of a version of istiod, which every node has.
func (s *podSite) chart(_ context.Context, version string, c *istio.Config) error {
	part, err := s.run.istiodPart(version)
	if err != nil {
		return err
	}
	c.Assets, c.Image = s.run.parts[part].Assets, s.images[part].Ref
	return nil
}

// watchIstiod records what becomes of istiod. Its end is not that of the run:
// clients keep the routes that they have, and what it does not deliver meanwhile
// is a gap in what the client of the traffic sees.
func (s *podSite) watchIstiod(rec *record.Recorder) error {
	if !s.run.has(scenario.Istiod) {
		return nil
	}
	pods, err := s.client.Kube.CoreV1().Pods(istio.Namespace).List(s.watching, metav1.ListOptions{LabelSelector: istio.Selector})
	if err != nil {
		return err
	}
	if len(pods.Items) == 0 {
		return errors.New("no istiod is there")
	}
	say := rec.LogLine(istio.Name)
	for i := range pods.Items {
		watch := s.client.WatchPod(s.watching, &pods.Items[i])
		context.AfterFunc(s.watching, watch.Stop)
		s.logs.Go(func() {
			<-watch.Done()
			if err := watch.Err(); err != nil {
				say(err.Error())
			}
		})
	}
	return nil
}

// controllers is the namespace of the run's controller: what the run records is
// its workload.
func (s *podSite) controllers() string { return s.run.namespace + "-controller" }

func (s *podSite) controller(ctx context.Context, fail context.CancelCauseFunc, rec *record.Recorder) error {
	r := s.run
	r.say("starting Argo Rollouts %s", r.cell.Versions[scenario.ArgoRollouts])
	startCtx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	deployed, err := argorollouts.Deploy(startCtx, argorollouts.DeployConfig{
		REST: r.cluster.RESTConfig(), Namespace: s.controllers(), Watch: r.namespace, Image: s.images[scenario.ArgoRollouts].Ref,
		Assets: r.parts[scenario.ArgoRollouts].Assets, Version: r.parts.versions(r.cell)[scenario.ArgoRollouts],
	})
	if err != nil {
		return err
	}
	context.AfterFunc(s.watching, deployed.Release)
	go watchPart(s.watching, fail, argorollouts.Name, deployed)
	s.follow(fail, rec, argorollouts.Name, deployed.Log, func(string) bool { return true })
	rec.AddSampler(record.Metrics(argorollouts.Name, sampleInterval, record.Page{URL: deployed.Metrics.URL, HTTP: deployed.Metrics.HTTP, Prefixes: controllerMetrics}))
	return nil
}

// follow records what is worth it of a container's log until end, and keeps all of it
// as a file.
func (s *podSite) follow(fail context.CancelCauseFunc, rec *record.Recorder, component string, of incluster.Container, worth func(line string) bool) {
	line := rec.LogLine(component)
	file, err := os.Create(filepath.Join(s.run.dir.File(LogDir), component+".log"))
	if err != nil {
		file = nil // a full disk: the recording will say so
	}
	s.logs.Go(func() {
		defer file.Close()
		err := s.client.FollowLog(s.watching, of, func(text string) {
			if worth(text) {
				line(text)
			}
			_, _ = fmt.Fprintln(file, text)
		})
		if err != nil && s.watching.Err() == nil {
			fail(&partFault{"log of " + component, err})
		}
	})
}

func (s *podSite) end() {
	if s.stop != nil {
		s.stop()
	}
	if s.mesh != nil {
		_ = s.mesh.close(context.Background()) // nothing is told of it any more
	}
	s.logs.Wait()
}

// furnish gives the script the program of its pods, and a client for them.
func (s *podSite) furnish(ctx context.Context, fail context.CancelCauseFunc, rec *record.Recorder, st *stage.Stage) {
	st.Image = s.images[trafficProgram].Ref
	if s.mesh != nil {
		st.ControlPlane = s.mesh
	}
	st.Traffic = &sender{run: s.run, client: s.client, image: st.Image, rec: rec, ctx: ctx, fail: fail}
}

// leave removes the run's namespaces, and waits until they are gone: what still
// ends would take its time from the next run.
func (s *podSite) leave(ctx context.Context) error {
	if s.client == nil {
		return nil
	}
	names := []string{s.run.namespace, s.controllers()}
	namespaces := s.client.Kube.CoreV1().Namespaces()
	for _, name := range names {
		if err := namespaces.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("removing namespace %s: %w", name, err)
		}
	}
	for _, name := range names {
		err := wait.PollUntilContextCancel(ctx, goneInterval, true, func(ctx context.Context) (bool, error) {
			_, err := namespaces.Get(ctx, name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		})
		if err != nil {
			return fmt.Errorf("namespace %s is not gone: %w", name, err)
		}
	}
	return nil
}

// goneInterval is between two looks at what goes.
const goneInterval = 200 * time.Millisecond
