package rollouts

import "reckon.dev/reckon/harness/model/source"

// A Basis is where a rule was read, a path in github.com/argoproj/argo-rollouts.
type Basis = source.Basis

// A Rule names one place in the controller, whatever its line at a tag.
type Rule string

// The rules. Those named branchX belong to Decision.Branch X.
const (
	RuleBranchA       Rule = "branchA"
	RuleBranchB       Rule = "branchB"
	RuleBranchC       Rule = "branchC"
	RuleBranchD       Rule = "branchD"
	RuleBranchE       Rule = "branchE"
	RuleBranchF1      Rule = "branchF1"
	RuleBranchF2      Rule = "branchF2"
	RuleBranchF3      Rule = "branchF3"
	RuleBranchN       Rule = "branchN"
	RuleStableGuard   Rule = "stableGuard"
	RuleEarlyZero     Rule = "earlyZeroWeight"
	RuleSubsetGuard   Rule = "subsetGuard"
	RuleFloor         Rule = "minPods"
	RuleCounts        Rule = "counts"
	RuleShare         Rule = "share"
	RuleSetWeight     Rule = "currentSetWeight"
	RuleAtDesired     Rule = "atDesired"
	RuleWindow        Rule = "rollbackWindow"
	RuleWindowSkips   Rule = "rollbackWindowSkipsSteps"
	RuleWindowActive  Rule = "rollbackToActive"
	RuleReset         Rule = "resetStatus"
	RuleRemoveAbort   Rule = "removeAbort"
	RulePromote       Rule = "shouldFullPromote"
	RulePromoteCount  Rule = "promoteAvailable"
	RulePromoteWindow Rule = "promoteWithinWindow"
	RuleAbortDelay    Rule = "abortScaleDownDelay"
	RuleScaleDown     Rule = "scaleDownDelay"
	RuleServices      Rule = "serviceSelectors"
	RuleThreshold     Rule = "replicaProgressThreshold"
	RuleLadder        Rule = "abortLadder"
	RuleCanaryService Rule = "canaryService"
	RuleServiceBack   Rule = "canaryServiceBack"
	RuleDeadlines     Rule = "removeDeadlines"
	RulePhase         Rule = "phase"
	RuleTimedOut      Rule = "timedOut"
	RuleDeadlineAbort Rule = "progressDeadlineAbort"
	RuleProgressing   Rule = "progressing"
	RuleBasicCounts   Rule = "basicCounts"
	RuleApproximate   Rule = "approximateCounts"
	RuleFences        Rule = "fences"
	RuleDelaysAbort   Rule = "delaysAbort"
	RuleCanaryScale   Rule = "setCanaryScale"
	RuleScaling       Rule = "scalingEvent"
	RuleScaleStatus   Rule = "scaleStatus"
	RuleIntermediate  Rule = "intermediate"
	RuleReferenced    Rule = "referenced"
	RuleHeader        Rule = "setHeaderRoute"
	RuleHeaderLost    Rule = "removeManagedRoutes"
	RuleRoute         Rule = "routeToPatch"
	RuleSetWeightIn   Rule = "setWeight"
	RuleActive        Rule = "activeService"
	RulePreview       Rule = "previewService"
	RulePreviewSize   Rule = "previewReplicaCount"
	RuleApproval      Rule = "blueGreenPause"
	RulePauseOver     Rule = "completedBlueGreenPause"
	RuleFastTrack     Rule = "fastTrack"
	RuleCheckPoint    Rule = "scaleUpPreviewCheckPoint"
	RuleKeptAtFull    Rule = "delayAtFullSize"
	RuleBlueGreenDone Rule = "promoteBlueGreen"

	RuleHash           Rule = "templateHash"
	RuleFindByHash     Rule = "findByHash"
	RuleFindOldest     Rule = "findOldest"
	RuleFindEqual      Rule = "findEqual"
	RuleRemoveAffinity Rule = "removeInjectedAntiAffinity"
	RuleAffinityUpdate Rule = "antiAffinityNeedsUpdate"
	RuleAffinityWrite  Rule = "antiAffinityWritten"
	RuleStepHash       Rule = "stepHash"
	RuleAnalysisType   Rule = "analysisStepType"

	RuleLease   Rule = "lease"
	RuleRelease Rule = "leaseIsKept"
	RuleLead    Rule = "lead"
)

// tag is the release at which a group's lines were read.
func (g Group) tag() string {
	switch g {
	case Group17:
		return "v1.7.2"
	case Group180:
		return "v1.8.2"
	case Group183:
		return "v1.8.3"
	case Group19:
		return "v1.9.2"
	}
	return "v1.10.1"
}

// A place has one line for each group, oldest first; 0 where the rule does not exist.
type place struct {
	source string
	lines  [5]int
	note   string
}

const (
	traffic    = "rollout/trafficrouting.go"
	canary     = "rollout/canary.go"
	sizes      = "utils/replicaset/canary.go"
	syncGo     = "rollout/sync.go"
	istio      = "rollout/trafficrouting/istio/istio.go"
	rsGo       = "rollout/replicaset.go"
	svcGo      = "rollout/service.go"
	bgGo       = "rollout/bluegreen.go"
	pauseGo    = "rollout/pause.go"
	controller = "controller/controller.go"
	sets       = "utils/replicaset/replicaset.go"
)

var places = map[Rule]place{
	RuleBranchA:       {traffic, [5]int{168, 187, 187, 192, 192}, "dynamicStableScale, back to stable before it is full"},
	RuleBranchB:       {traffic, [5]int{175, 194, 194, 199, 199}, "fully promoted: weight 0"},
	RuleBranchC:       {traffic, [5]int{180, 199, 199, 204, 204}, "aborted"},
	RuleBranchD:       {traffic, [5]int{198, 217, 217, 222, 222}, "no available canary pod: weight 0"},
	RuleBranchE:       {traffic, [5]int{201, 229, 229, 234, 234}, "promote --full keeps the recorded weight"},
	RuleBranchF1:      {traffic, [5]int{219, 247, 247, 252, 252}, "canary not at its size: last setWeight before the index"},
	RuleBranchF2:      {traffic, [5]int{231, 259, 259, 264, 264}, "canary at its size: weight of the step"},
	RuleBranchF3:      {traffic, [5]int{234, 262, 262, 267, 267}, "canary at its size after the last step: full weight"},
	RuleBranchN:       {traffic, [5]int{215, 243, 243, 248, 248}, "no steps: no branch matches, weight 0"},
	RuleStableGuard:   {traffic, [5]int{0, 266, 266, 273, 273}, "stable lacks pods for the rest: routing untouched"},
	RuleEarlyZero:     {traffic, [5]int{0, 0, 0, 298, 298}, "weight before subsets when the canary is empty"},
	RuleSubsetGuard:   {istio, [5]int{317, 328, 332, 356, 356}, "UpdateHash without Services"},
	RuleFloor:         {sizes, [5]int{327, 327, 327, 357, 357}, "max(count, minPodsPerReplicaSet) unless 0"},
	RuleCounts:        {sizes, [5]int{341, 341, 341, 371, 377}, "replica counts with traffic routing"},
	RuleShare:         {sizes, [5]int{388, 388, 388, 418, 424}, "ceil(weight*replicas/max)"},
	RuleSetWeight:     {sizes, [5]int{484, 484, 484, 546, 552}, "setWeight at or before the index"},
	RuleAtDesired:     {sizes, [5]int{31, 31, 31, 59, 59}, "canary available, stable created"},
	RuleWindow:        {syncGo, [5]int{901, 903, 903, 905, 966}, "isRollbackWithinWindow"},
	RuleWindowSkips:   {canary, [5]int{381, 390, 400, 379, 378}, "in the window: no pause, no abort, index to the end"},
	RuleWindowActive:  {canary, [5]int{370, 379, 389, 368, 368}, "in the window and still up: index to the end at once"},
	RuleReset:         {canary, [5]int{363, 372, 382, 361, 361}, "a changed template or step list resets the status"},
	RuleRemoveAbort:   {canary, [5]int{383, 392, 402, 381, 380}, "in the window an abort is undone in the pass that saw it"},
	RulePromote:       {syncGo, [5]int{935, 937, 937, 939, 1000}, "shouldFullPromote"},
	RulePromoteCount:  {syncGo, [5]int{943, 945, 945, 951, 1012}, "available canary pods against spec.replicas"},
	RulePromoteWindow: {syncGo, [5]int{949, 951, 951, 958, 1020}, "Rollback within window"},
	RuleAbortDelay:    {rsGo, [5]int{163, 155, 155, 159, 201}, "the delay starts once stable is fully available"},
	RuleScaleDown:     {rsGo, [5]int{290, 282, 282, 304, 346}, "scaleDownDelayHelper"},
	RuleServices:      {svcGo, [5]int{322, 323, 323, 325, 325}, "a selector moves with one available pod"},
	RuleThreshold:     {sizes, [5]int{0, 0, 0, 36, 36}, "ReplicaProgressThresholdMet"},
	RuleCanaryService: {svcGo, [5]int{280, 281, 281, 283, 283}, "the canary Service follows the wanted version"},
	RuleServiceBack:   {traffic, [5]int{188, 207, 207, 212, 212}, "aborted: the canary Service leads to the stable version"},
	RuleDeadlines:     {rsGo, [5]int{108, 100, 100, 102, 112}, "a version in use again loses its scale-down deadline"},
	RuleDelaysAbort:   {rsGo, [5]int{195, 187, 187, 209, 251}, "shouldDelayScaleDownOnAbort"},
	RuleCanaryScale:   {sizes, [5]int{505, 505, 505, 567, 573}, "UseSetCanaryScale"},
	RulePhase:         {"utils/rollout/rolloututil.go", [5]int{88, 88, 88, 133, 133}, "CalculateRolloutPhase"},
	RuleBasicCounts:   {sizes, [5]int{94, 94, 94, 124, 124}, "sizes without traffic routing"},
	RuleApproximate:   {sizes, [5]int{188, 188, 188, 218, 218}, "the sizes closest to a weight"},
	RuleFences:        {"utils/replicaset/replicaset.go", [5]int{406, 407, 407, 407, 407}, "maxSurge and maxUnavailable in pods"},
	RuleTimedOut:      {"utils/conditions/conditions.go", [5]int{330, 341, 341, 341, 341}, "RolloutTimedOut"},
	RuleProgressing:   {"utils/conditions/conditions.go", [5]int{242, 253, 253, 253, 253}, "what counts as progress"},
	RuleDeadlineAbort: {syncGo, [5]int{686, 687, 687, 687, 589}, "progressDeadlineAbort"},
	RuleLadder:        {traffic, [5]int{305, 337, 337, 360, 360}, "weight on abort"},
	RuleScaling:       {syncGo, [5]int{325, 320, 320, 320, 320}, "spec.replicas changed: sizes only, routing waits"},
	RuleScaleStatus:   {canary, [5]int{354, 361, 371, 349, 349}, "status of the scale subresource: the pods of all versions together"},
	RuleIntermediate:  {canary, [5]int{227, 232, 242, 242, 242}, "neither canary nor stable and never promoted: to 0 without a delay"},
	RuleReferenced:    {rsGo, [5]int{329, 321, 321, 347, 389}, "isReplicaSetReferenced keeps its pods"},
	RuleHeader:        {traffic, [5]int{240, 272, 272, 279, 279}, "the managed route is written in the one pass of its step"},
	RuleHeaderLost:    {traffic, [5]int{0, 225, 225, 230, 230}, "no available canary pod: managed routes are removed"},
	RuleRoute:         {istio, [5]int{888, 905, 910, 955, 955}, "which route of a VirtualService is patched"},
	RuleSetWeightIn:   {istio, [5]int{653, 670, 675, 720, 720}, "every VirtualService gets the weight, whoever changed it"},
	RuleActive:        {svcGo, [5]int{98, 99, 99, 99, 99}, "the active Service moves once all replicas are available"},
	RulePreview:       {svcGo, [5]int{76, 77, 77, 77, 77}, "the preview Service moves at once, whatever pods there are"},
	RulePreviewSize:   {"utils/replicaset/replicaset.go", [5]int{253, 254, 254, 254, 254}, "previewReplicaCount until it is approved"},
	RuleApproval:      {bgGo, [5]int{132, 132, 132, 132, 132}, "reconcileBlueGreenPause"},
	RulePauseOver:     {pauseGo, [5]int{143, 143, 143, 145, 145}, "CompletedBlueGreenPause"},
	RuleFastTrack:     {bgGo, [5]int{113, 113, 113, 113, 113}, "isBlueGreenFastTracked skips the pause"},
	RuleCheckPoint:    {bgGo, [5]int{322, 322, 322, 322, 321}, "an approved preview may have all pods, and so may what follows it"},
	RuleKeptAtFull:    {bgGo, [5]int{234, 234, 234, 234, 234}, "an old ReplicaSet has spec.replicas pods during its delay"},
	RuleBlueGreenDone: {syncGo, [5]int{958, 960, 960, 967, 1031}, "shouldFullPromote, blue-green"},

	RuleHash:           {"utils/hash/hash.go", [5]int{15, 15, 15, 15, 15}, "ComputePodTemplateHash hashes the template as JSON"},
	RuleFindByHash:     {sets, [5]int{45, 45, 45, 45, 45}, "FindNewReplicaSet: by its hash"},
	RuleFindOldest:     {sets, [5]int{42, 42, 42, 42, 42}, "FindNewReplicaSet: the oldest first"},
	RuleFindEqual:      {sets, [5]int{68, 68, 68, 68, 68}, "FindNewReplicaSet: by an equal template"},
	RuleRemoveAffinity: {sets, [5]int{183, 184, 184, 184, 184}, "RemoveInjectedAntiAffinityRule leaves an empty list, which is not nil"},
	RuleAffinityUpdate: {sets, [5]int{209, 210, 210, 210, 210}, "IfInjectedAntiAffinityRuleNeedsUpdate compares with a hash computed anew"},
	RuleAffinityWrite:  {syncGo, [5]int{83, 78, 78, 78, 78}, "syncReplicaSetRevision writes the affinity"},
	RuleStepHash:       {"utils/conditions/conditions.go", [5]int{311, 322, 322, 322, 322}, "ComputeStepHash hashes the steps as JSON"},
	RuleLease:          {controller, [5]int{91, 92, 92, 92, 91}, "the lease lasts for 15 s, is renewed each 2 s and tried for each 2 to 4.4 s"},
	RuleRelease:        {controller, [5]int{503, 504, 504, 508, 548}, "a controller that ends does not give its lease back"},
	RuleLead:           {controller, [5]int{510, 511, 511, 515, 555}, "who has the lease starts its informers and workers, not before"},

	RuleAnalysisType: {"pkg/apis/rollouts/v1alpha1/types.go", [5]int{735, 751, 751, 787, 787}, "analysisRunMetadata: a value up to v1.8, a pointer since v1.9"},
}

// Basis says where the group's rule is written. It is empty for an unknown rule; Line 0
// is a rule that the group does not have.
func (g Group) Basis(rule Rule) Basis {
	p, ok := places[rule]
	if !ok {
		return Basis{}
	}
	for i, group := range Groups() {
		if group == g {
			return Basis{Source: p.source, Line: p.lines[i], Tag: g.tag(), Note: p.note}
		}
	}
	return Basis{Source: p.source, Line: p.lines[4], Tag: Group110.tag(), Note: p.note}
}

// Basis is that of the rules' group.
func (r Rules) Basis(rule Rule) Basis { return r.Group.Basis(rule) }
