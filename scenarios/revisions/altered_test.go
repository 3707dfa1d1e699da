package revisions_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"reckon.dev/reckon/harness/doctored"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/harness/stage"
	"reckon.dev/reckon/scenarios/revisions"
	"reckon.dev/reckon/scenarios/workload"
)

// Recordings of real clusters in testdata.
const (
	limit0     = "v1.37.2-undo-with-limit-0"
	limit1     = "v1.37.2-undo-with-limit-1"
	limit10    = "v1.37.2-undo-with-limit-10"
	adopt      = "v1.37.2-adopt"
	background = "v1.37.2-delete-in-the-background"
	foreground = "v1.37.2-delete-in-the-foreground"
	orphan     = "v1.37.2-delete-and-orphan"
)

const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	pastAnnotation     = "deployment.kubernetes.io/revision-history"
)

func load(t testing.TB, name string) *tape {
	return &tape{doctored.Load(t, filepath.Join("testdata", name)), t}
}

// TestRealRecordingsPass: what was recorded is what is predicted, claim by claim.
func TestRealRecordingsPass(t *testing.T) {
	dirs, err := filepath.Glob("testdata/v*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			v := doctored.Load(t, dir).Verdict()
			if v.Outcome != judge.Pass {
				t.Errorf("outcome %s: %q", v.Outcome, v.Reasons)
			}
			for _, c := range v.Claims {
				if c.Status != judge.Held {
					t.Errorf("claim %s is %s: predicted %s, observed %s", c.ID, c.Status, c.Predicted, c.Observed)
				}
			}
		})
	}
}

// TestAlteredRecordingsBreakTheirClaims: a claim that no alteration breaks would
// claim nothing.
func TestAlteredRecordingsBreakTheirClaims(t *testing.T) {
	for name, c := range map[string]struct {
		recording string
		alter     func(*tape)
		claim     string
	}{
		"undo leaves the old number":          {limit10, func(tp *tape) { tp.number(workload.V2, "4", "2") }, "revisions-v2"},
		"undo gives a number that is taken":   {limit10, func(tp *tape) { tp.number(workload.V2, "4", "3") }, "revisions-v2"},
		"the Deployment keeps its number":     {limit10, func(tp *tape) { tp.deploymentNumber("4", "3") }, "revisions"},
		"the old number is forgotten":         {limit10, func(tp *tape) { tp.annotate(workload.V2, pastAnnotation, "3") }, "past-v2"},
		"a ReplicaSet goes that is kept":      {limit10, func(tp *tape) { tp.remove(workload.V1, workload.StepSettle) }, "kept-v1"},
		"the current ReplicaSet goes":         {limit10, func(tp *tape) { tp.remove(workload.V2, workload.StepQuiet) }, "current-stays"},
		"the current one goes, in time":       {limit0, func(tp *tape) { tp.remove(workload.V3, revisions.StepUndo) }, "current-stays"},
		"a ReplicaSet stays that must go":     {limit1, func(tp *tape) { tp.keep(workload.V1) }, "kept-v1"},
		"its number stays with it":            {limit1, func(tp *tape) { tp.keep(workload.V1) }, "revisions-v1"},
		"a ReplicaSet goes too early":         {limit1, func(tp *tape) { tp.removeEarly(workload.V1, revisions.StepThird) }, "most-kept"},
		"one ReplicaSet too many is kept":     {limit0, func(tp *tape) { tp.keep(workload.V1) }, "most-kept"},
		"undo says that there was nothing":    {limit10, func(tp *tape) { tp.say(`no rollout history found for deployment "drill"`) }, "answer"},
		"undo says that it did what it could": {limit0, func(tp *tape) { tp.say("rolled back") }, "answer"},
		"a size jumps":                        {limit10, func(tp *tape) { tp.resize(workload.V3, 7) }, "moves"},
		"a number changes in the quiet time":  {limit10, func(tp *tape) { tp.deploymentLater("5") }, "quiet"},

		"a foreign pod is deleted":          {adopt, func(tp *tape) { tp.vanish(revisions.Foreign, workload.StepQuiet) }, "foreign-stays"},
		"a foreign pod is adopted":          {adopt, func(tp *tape) { tp.own(revisions.Foreign) }, "foreign-free"},
		"a foreign pod is counted":          {adopt, func(tp *tape) { tp.count(revisions.StepForeign, 3) }, "foreign-uncounted"},
		"a foreign pod is counted later":    {adopt, func(tp *tape) { tp.count(revisions.StepRelease, 3) }, "counted"},
		"a foreign pod is never ready":      {adopt, func(tp *tape) { tp.unready(revisions.Foreign) }, "foreign-ready"},
		"a stray pod is not adopted":        {adopt, func(tp *tape) { tp.disown(revisions.Stray) }, "stray-adopted"},
		"a stray pod stays":                 {adopt, func(tp *tape) { tp.survive(revisions.Stray) }, "stray-goes"},
		"one pod too many stays":            {adopt, func(tp *tape) { tp.survive(revisions.Stray) }, "owned"},
		"another pod goes for the stray":    {adopt, func(tp *tape) { tp.vanish("", revisions.StepStray) }, "own-stay"},
		"a released pod keeps its owner":    {adopt, func(tp *tape) { tp.own(revisions.Released) }, "released"},
		"a released pod is deleted":         {adopt, func(tp *tape) { tp.vanish(revisions.Released, workload.StepQuiet) }, "released-stays"},
		"a released pod is not replaced":    {adopt, func(tp *tape) { tp.withoutReplacement() }, "replaced"},
		"an owned pod is not ready":         {adopt, func(tp *tape) { tp.unready("") }, "final-ready"},
		"an owned pod vanishes at the end":  {adopt, func(tp *tape) { tp.vanish("", workload.StepQuiet) }, "final-existing"},
		"the Deployment scales for a stray": {adopt, func(tp *tape) { tp.resize(workload.V1, 3) }, "size"},

		"a pod goes before its ReplicaSet":      {background, func(tp *tape) { tp.vanishBefore(workload.V2) }, "order"},
		"a ReplicaSet goes before its owner":    {background, func(tp *tape) { tp.remove(workload.V2, revisions.StepDelete) }, "order"},
		"a pod outlives its owner for good":     {background, func(tp *tape) { tp.outlive() }, "left-pods"},
		"a ReplicaSet outlives its owner":       {background, func(tp *tape) { tp.keep(workload.V1) }, "left-replicasets"},
		"a pod outlives its owner":              {foreground, func(tp *tape) { tp.outliveFor(workload.V2) }, "order"},
		"the Deployment goes first":             {foreground, func(tp *tape) { tp.deploymentFirst() }, "order"},
		"no finalizer holds the Deployment":     {foreground, func(tp *tape) { tp.unhold(workload.Deployments) }, "deployment"},
		"no finalizer holds the ReplicaSet":     {foreground, func(tp *tape) { tp.unhold(workload.ReplicaSets) }, "replicaset-v2"},
		"a dying ReplicaSet makes a pod":        {foreground, func(tp *tape) { tp.anotherPod() }, "no-new-pod"},
		"an orphan goes":                        {orphan, func(tp *tape) { tp.remove(workload.V1, workload.StepQuiet) }, "left-replicasets"},
		"an orphan goes with the Deployment":    {orphan, func(tp *tape) { tp.remove(workload.V1, revisions.StepDelete) }, "order"},
		"an orphan still has its owner":         {orphan, func(tp *tape) { tp.ownSets() }, "order"},
		"an orphan's owner is gone and named":   {orphan, func(tp *tape) { tp.ownSets() }, "replicaset-v1"},
		"the orphans' pods lose their owner":    {orphan, func(tp *tape) { tp.disownAll() }, "left-owned"},
		"an orphan's pod goes":                  {orphan, func(tp *tape) { tp.vanish("", workload.StepQuiet) }, "left-pods"},
		"an orphan is not taken back":           {orphan, func(tp *tape) { tp.refuse() }, "taken-back-v2"},
		"an orphan gets another number":         {orphan, func(tp *tape) { tp.annotate(workload.V2, revisionAnnotation, "3") }, "old-revision-v2"},
		"a pod is made for the one taken back":  {orphan, func(tp *tape) { tp.podLater() }, "old-pods"},
		"the Deployment begins with its number": {background, func(tp *tape) { tp.numberLater("3") }, "new-revision"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tp := load(t, c.recording)
			c.alter(tp)
			tp.Breaks(c.claim)
		})
	}
}

// TestWhatWasSeen: a path that was allowed says what it was.
func TestWhatWasSeen(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]map[string]string{
		limit1:     {"current-stays": "v1, v2, v3, v2: each stayed", "kept-v1": "removed", "kept-v2": "kept"},
		adopt:      {"foreign-free": "never owned", "own-stay": "untouched", "stray-goes": "none → there → none"},
		background: {"order": "1 Deployment → 2 ReplicaSets → 2 pods"},
		foreground: {"order": "1 ReplicaSet → 2 pods → 1 ReplicaSet → 1 Deployment"},
		orphan:     {"order": "2 ReplicaSets set free → 1 Deployment", "left-pods": "2 pods"},
	} {
		for _, c := range load(t, name).Verdict().Claims {
			if text, ok := want[c.ID]; ok && c.Observed != text {
				t.Errorf("%s: %s is %q, want %q", name, c.ID, c.Observed, text)
			}
			delete(want, c.ID)
		}
		if len(want) > 0 {
			t.Errorf("%s: no claims %v", name, want)
		}
	}
}

// TestSilenceWithoutALifeProvesNothing: a controller that does not answer
// afterwards has not been quiet.
func TestSilenceWithoutALifeProvesNothing(t *testing.T) {
	t.Parallel()
	tp := load(t, limit10)
	tp.each(workload.Deployments, func(v *series.View) bool { return v.Metadata.Labels[workload.AskedLabel] != "" }, func(i int) {
		tp.Set(i, 0, "status", "observedGeneration")
	})
	for _, c := range tp.Verdict().Claims {
		if c.ID == "quiet" && c.Status != judge.Inconclusive {
			t.Errorf("claim quiet is %s", c.Status)
		}
	}
}

// tape is a recording with the alterations of this scenario.
type tape struct {
	*doctored.Tape
	t testing.TB
}

func (tp *tape) view(i int) *series.View {
	v := &series.View{}
	if err := json.Unmarshal(tp.Facts[i].Object.Body, v); err != nil {
		tp.t.Fatal(err)
	}
	return v
}

// indexes are those of the facts about objects of a resource that match.
func (tp *tape) indexes(resource string, match func(*series.View) bool) []int {
	var out []int
	for i := range tp.Facts {
		if o := tp.Facts[i].Object; o != nil && o.Resource == resource && match(tp.view(i)) {
			out = append(out, i)
		}
	}
	return out
}

// each does something to such facts. There must be some.
func (tp *tape) each(resource string, match func(*series.View) bool, do func(i int)) {
	tp.t.Helper()
	found := tp.indexes(resource, match)
	if len(found) == 0 {
		tp.t.Fatalf("the recording has no such fact about %s", resource)
	}
	for _, i := range found {
		do(i)
	}
}

// dropWhere leaves facts out.
func (tp *tape) dropWhere(resource string, match func(*recording.Object, *series.View) bool) {
	tp.t.Helper()
	found := tp.indexes(resource, func(*series.View) bool { return true })
	n := len(tp.Facts)
	for k := len(found) - 1; k >= 0; k-- {
		if match(tp.Facts[found[k]].Object, tp.view(found[k])) {
			tp.Drop(found[k])
		}
	}
	if len(tp.Facts) == n {
		tp.t.Fatalf("nothing to leave out of %s", resource)
	}
}

func of(version string) func(*series.View) bool {
	return func(v *series.View) bool { return v.Spec.Template.Metadata.Labels[stage.VersionLabel] == version }
}

// role are pods of a role, "" those that the ReplicaSet created and that were left alone.
func role(name string) func(*series.View) bool {
	return func(v *series.View) bool { return v.Metadata.Labels[revisions.RoleLabel] == name }
}

// lastBefore is the last of such facts before a step.
func (tp *tape) lastBefore(resource, step string, match func(*series.View) bool) int {
	tp.t.Helper()
	last, end := -1, tp.StepBegin(step)
	for _, i := range tp.indexes(resource, match) {
		if i < end && tp.Facts[i].Object.Change != recording.Deleted {
			last = i
		}
	}
	if last < 0 {
		tp.t.Fatalf("no such fact about %s before %s", resource, step)
	}
	return last
}

// deleteAt deletes an object at the begin of a step.
func (tp *tape) deleteAt(step string, i int) {
	at := tp.StepBegin(step)
	rv := tp.newest(at)
	n := tp.Insert(at, i, func(o *recording.Object) { o.Change, o.RV = recording.Deleted, rv })
	tp.Facts[n].T++ // inside the step
}

// newest is the newest version of the store that was received before a fact.
func (tp *tape) newest(before int) uint64 {
	rv := uint64(0)
	for i := range before {
		if o := tp.Facts[i].Object; o != nil {
			rv = max(rv, o.RV)
		}
	}
	return rv
}

func (tp *tape) annotate(version, annotation, value string) {
	tp.each(workload.ReplicaSets, of(version), func(i int) {
		if tp.view(i).Metadata.Annotations[annotation] != "" {
			tp.Set(i, value, "metadata", "annotations", annotation)
		}
	})
}

func (tp *tape) number(version, from, to string) {
	tp.each(workload.ReplicaSets, of(version), func(i int) {
		if tp.view(i).Metadata.Annotations[revisionAnnotation] == from {
			tp.Set(i, to, "metadata", "annotations", revisionAnnotation)
		}
	})
}

func (tp *tape) deploymentNumber(from, to string) {
	tp.each(workload.Deployments, func(v *series.View) bool { return v.Metadata.Annotations[revisionAnnotation] == from }, func(i int) {
		tp.Set(i, to, "metadata", "annotations", revisionAnnotation)
	})
}

// deploymentLater gives the Deployment a number in the quiet time.
func (tp *tape) deploymentLater(number string) {
	i := tp.lastBefore(workload.Deployments, workload.StepQuiet, func(*series.View) bool { return true })
	at := tp.StepBegin(workload.StepQuiet)
	rv := tp.newest(at)
	n := tp.Insert(at, i, func(o *recording.Object) { o.RV = rv + 1 })
	tp.Set(n, number, "metadata", "annotations", revisionAnnotation)
	tp.Facts[n].T++
}

// remove deletes the ReplicaSet of a version at the begin of a step.
func (tp *tape) remove(version, step string) {
	tp.deleteAt(step, tp.lastBefore(workload.ReplicaSets, step, of(version)))
}

// keep leaves the deletion of the ReplicaSet of a version out.
func (tp *tape) keep(version string) {
	tp.dropWhere(workload.ReplicaSets, func(o *recording.Object, v *series.View) bool {
		return o.Change == recording.Deleted && of(version)(v)
	})
}

// removeEarly deletes the ReplicaSet of a version at the begin of a step instead of later.
func (tp *tape) removeEarly(version, step string) {
	tp.keep(version)
	tp.remove(version, step)
}

func (tp *tape) say(text string) {
	for i := range tp.Facts {
		if l := tp.Facts[i].Log; l != nil && l.Component == "kubectl" {
			line := *l
			line.Line = text
			tp.Facts[i].Log = &line
			return
		}
	}
	tp.t.Fatal("kubectl says nothing")
}

func (tp *tape) resize(version string, to int) {
	found := tp.indexes(workload.ReplicaSets, of(version))
	tp.Set(found[len(found)-1], to, "spec", "replicas")
}

// vanish deletes a pod of the role at the begin of a step.
func (tp *tape) vanish(name, step string) {
	tp.deleteAt(step, tp.lastBefore(workload.Pods, step, func(v *series.View) bool {
		return role(name)(v) && v.Metadata.DeletionTimestamp == "" && tp.lives(v.Metadata.Name, step)
	}))
}

// lives says whether the pod of that name was not deleted before a step.
func (tp *tape) lives(name, step string) bool {
	end := tp.StepBegin(step)
	for _, i := range tp.indexes(workload.Pods, func(v *series.View) bool { return v.Metadata.Name == name }) {
		if i < end && tp.Facts[i].Object.Change == recording.Deleted {
			return false
		}
	}
	return true
}

func owner(kind string) []any {
	return []any{map[string]any{"kind": kind, "name": "drill", "controller": true}}
}

func (tp *tape) own(name string) {
	tp.each(workload.Pods, role(name), func(i int) { tp.Set(i, owner("ReplicaSet"), "metadata", "ownerReferences") })
}

func (tp *tape) disown(name string) {
	tp.each(workload.Pods, role(name), func(i int) { tp.Set(i, []any{}, "metadata", "ownerReferences") })
}

func (tp *tape) disownAll() {
	tp.each(workload.Pods, func(*series.View) bool { return true }, func(i int) { tp.Set(i, []any{}, "metadata", "ownerReferences") })
}

func (tp *tape) unready(name string) {
	tp.each(workload.Pods, role(name), func(i int) { tp.Set(i, []any{}, "status", "conditions") })
}

// survive leaves the end of a pod out.
func (tp *tape) survive(name string) {
	tp.dropWhere(workload.Pods, func(o *recording.Object, v *series.View) bool {
		return role(name)(v) && (o.Change == recording.Deleted || v.Metadata.DeletionTimestamp != "")
	})
}

// count makes the ReplicaSet count so many pods from the begin of a step on.
func (tp *tape) count(step string, n int) {
	i := tp.lastBefore(workload.ReplicaSets, step, of(workload.V1))
	at := tp.StepBegin(step)
	rv := tp.newest(at)
	tp.Set(tp.Insert(at, i, func(o *recording.Object) { o.RV = rv }), n, "status", "replicas")
}

// withoutReplacement leaves the pod out that came for the released one.
func (tp *tape) withoutReplacement() {
	step := tp.StepBegin(revisions.StepRelease)
	known := map[string]bool{}
	for _, i := range tp.indexes(workload.Pods, func(*series.View) bool { return true }) {
		if i < step {
			known[tp.Facts[i].Object.Name] = true
		}
	}
	tp.dropWhere(workload.Pods, func(o *recording.Object, _ *series.View) bool { return !known[o.Name] })
}

// deletion is the index of the deletion of the ReplicaSet of a version.
func (tp *tape) deletion(version string) int {
	return tp.Find(workload.ReplicaSets, 0, func(o *recording.Object, v *series.View) bool {
		return o.Change == recording.Deleted && of(version)(v)
	})
}

// vanishBefore gives a pod's deletion the version before that of its ReplicaSet.
func (tp *tape) vanishBefore(version string) {
	rv := tp.Facts[tp.deletion(version)].Object.RV
	i := tp.Find(workload.Pods, 0, func(o *recording.Object, v *series.View) bool {
		return v.Metadata.Labels[stage.VersionLabel] == version && v.Metadata.DeletionTimestamp != ""
	})
	tp.Facts[i].Object.RV = rv - 1
}

// outlive leaves the deletion of a pod out.
func (tp *tape) outlive() {
	tp.Drop(tp.Find(workload.Pods, 0, func(o *recording.Object, v *series.View) bool {
		return o.Change == recording.Deleted && v.Metadata.Labels[stage.VersionLabel] == workload.V2
	}))
}

// outliveFor gives a pod's deletion a version after that of its ReplicaSet.
func (tp *tape) outliveFor(version string) {
	rv := tp.Facts[tp.deletion(version)].Object.RV
	i := tp.Find(workload.Pods, 0, func(o *recording.Object, v *series.View) bool {
		return o.Change == recording.Deleted && v.Metadata.Labels[stage.VersionLabel] == version
	})
	tp.Facts[i].Object.RV = rv + 1
}

// deploymentFirst gives the Deployment's deletion a version before that of a ReplicaSet.
func (tp *tape) deploymentFirst() {
	rv := tp.Facts[tp.deletion(workload.V2)].Object.RV
	i := tp.Find(workload.Deployments, 0, func(o *recording.Object, _ *series.View) bool { return o.Change == recording.Deleted })
	tp.Facts[i].Object.RV = rv - 1
	tp.dropWhere(workload.Deployments, func(o *recording.Object, v *series.View) bool {
		return o.Change != recording.Deleted && v.Metadata.DeletionTimestamp != "" && o.RV >= rv-1
	})
}

func (tp *tape) unhold(resource string) {
	tp.each(resource, func(v *series.View) bool { return len(v.Metadata.Finalizers) > 0 }, func(i int) {
		tp.Set(i, []any{}, "metadata", "finalizers")
	})
}

// anotherPod adds a pod while the owners go.
func (tp *tape) anotherPod() { tp.addPod(revisions.StepDelete) }

// podLater adds one after the Deployment was created again.
func (tp *tape) podLater() { tp.addPod(workload.StepAsk) }

func (tp *tape) addPod(step string) {
	i := tp.lastBefore(workload.Pods, step, func(v *series.View) bool {
		return v.Metadata.Labels[stage.VersionLabel] == workload.V2 && v.Metadata.DeletionTimestamp == ""
	})
	at := tp.StepBegin(step)
	rv := tp.newest(at)
	n := tp.Insert(at, i, func(o *recording.Object) { o.Change, o.Name, o.RV = recording.Added, "drill-another", rv })
	tp.Facts[n].T++
}

func (tp *tape) ownSets() {
	tp.each(workload.ReplicaSets, func(*series.View) bool { return true }, func(i int) {
		tp.Set(i, owner("Deployment"), "metadata", "ownerReferences")
	})
}

// refuse leaves the ReplicaSets without an owner after the Deployment was created again.
func (tp *tape) refuse() {
	step := tp.StepBegin(workload.StepAsk)
	tp.each(workload.ReplicaSets, func(*series.View) bool { return true }, func(i int) {
		if i > step {
			tp.Set(i, []any{}, "metadata", "ownerReferences")
		}
	})
}

func (tp *tape) numberLater(number string) {
	step := tp.StepBegin(workload.StepAsk)
	tp.each(workload.ReplicaSets, of(workload.V2), func(i int) {
		if i > step {
			tp.Set(i, number, "metadata", "annotations", revisionAnnotation)
		}
	})
}
