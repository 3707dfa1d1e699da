// Package recording is the file format of a run: everything that was observed,
// in order of receipt, on one monotonic clock. A recording holds enough to
// judge the run again, years later, without a cluster.
//
// The file is zstd-compressed lines of JSON: one header, then facts, then one
// trailer with the counts, the end and a digest over all of it, so that a
// file that was cut or edited is known as such. The package is pure: it knows
// io.Reader and io.Writer, and no cluster.
package recording

import (
	"encoding/json"
	"time"
)

// Format names the version of the file format. A reader refuses any other.
const Format = "reckon/recording/v1"

// Header is the first line of a recording: what was run, with what, where.
type Header struct {
	Format     string          `json:"format"`
	RunID      string          `json:"runID"`
	Seed       int64           `json:"seed"`
	Drill      string          `json:"drill"`
	Cell       string          `json:"cell"`
	Repetition int             `json:"repetition"`
	Scenario   string          `json:"scenario"`
	Params     json.RawMessage `json:"params"`
	// Guards are the drill's safety limits by name.
	Guards map[string]float64 `json:"guards,omitempty"`
	// Gate says what decides the outcome: "claims" and "guards" to "fail" or "report".
	Gate       map[string]string `json:"gate,omitempty"`
	Components []Component       `json:"components"`
	Cluster    Cluster           `json:"cluster"`
	// Base is the wall time at t = 0. Facts carry monotonic offsets from it.
	Base   time.Time `json:"base"`
	Reckon string    `json:"reckon"`
}

// ModelVersions are the versions that models are asked for, by component: that
// of a release, or for a directory the release that it is said to be based on.
func (h Header) ModelVersions() map[string]string {
	out := map[string]string{}
	for _, c := range h.Components {
		out[c.Name] = c.Version
		if c.Base != "" {
			out[c.Name] = c.Base
		}
	}
	return out
}

// Component is a real program that took part, by version and binary digest.
type Component struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Base is the release that a directory is said to be based on.
	Base string `json:"base,omitempty"`
	// Source is how the binary was had: "module", "directory", ...
	Source string `json:"source,omitempty"`
	// Digests are "sha256:..." by binary name.
	Digests map[string]string `json:"digests,omitempty"`
	// Edits are changes that we made to the sources before building.
	Edits []string `json:"edits,omitempty"`
}

// Cluster says what the run ran on and how faithful that is.
type Cluster struct {
	Provider string `json:"provider"`
	Fidelity string `json:"fidelity"`
	// Offers are the capabilities of the provider.
	Offers []string          `json:"offers,omitempty"`
	Facts  map[string]string `json:"facts,omitempty"`
}

// Fact is one observation. Exactly one of the pointers is set.
type Fact struct {
	// T is the receipt time in nanoseconds since Header.Base, monotonic.
	T      int64   `json:"t"`
	Object *Object `json:"object,omitempty"`
	Step   *Step   `json:"step,omitempty"`
	Sample *Sample `json:"sample,omitempty"`
	Call   *Call   `json:"call,omitempty"`
	Log    *Log    `json:"log,omitempty"`
	Gap    *Gap    `json:"gap,omitempty"`
	Late   *Late   `json:"late,omitempty"`
	Fault  *Fault  `json:"fault,omitempty"`
	// Traffic is what a client of the workload saw of one interval's requests.
	Traffic *Traffic `json:"traffic,omitempty"`
	// Connection is an event in the life of a proxy's connection to istiod.
	Connection *Connection `json:"connection,omitempty"`
	// Replica is an event in the life of a replica of istiod.
	Replica *Replica `json:"replica,omitempty"`
}

// At is the receipt time as an offset from the header's base time.
func (f *Fact) At() time.Duration { return time.Duration(f.T) }

// Change says what happened to an object.
type Change string

const (
	// Listed: the object was there when the watch began, or on a re-list.
	Listed   Change = "listed"
	Added    Change = "added"
	Modified Change = "modified"
	Deleted  Change = "deleted"
)

// Object is one state of one API object as a watch delivered it.
type Object struct {
	Change Change `json:"change"`
	// Resource is plural.group, "pods" for the core group: "replicasets.apps".
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// RV is metadata.resourceVersion: one etcd, so one order over all kinds.
	RV uint64 `json:"rv"`
	// Body is the object without managedFields (pods are trimmed further).
	Body json.RawMessage `json:"body"`
}

// Step is the begin or end of one script step.
type Step struct {
	Name string `json:"name"`
	// Phase is "begin" or "end".
	Phase string `json:"phase"`
	Error string `json:"error,omitempty"`
}

// Sample is a measured number: one value of one metric.
type Sample struct {
	Series string            `json:"series"`
	Labels map[string]string `json:"labels,omitempty"`
	Value  float64           `json:"value"`
	// AtNS is when it was measured, in nanoseconds since the base, where that is
	// not when it was received: a client of the traffic measures in a pod.
	AtNS int64 `json:"atNS,omitempty"`
}

// Traffic is what a client of the workload saw of the requests that were due in
// one interval: every one of them is in Answers or in Failures. Intervals of a
// client follow each other without a hole; a number missing in Seq is a loss.
// Each is received when its last request has ended.
type Traffic struct {
	// Client names the client: "grpc" or "http".
	Client string `json:"client"`
	Seq    int64  `json:"seq"`
	// FromNS and ToNS bound the interval, in nanoseconds since the base.
	FromNS int64 `json:"fromNS"`
	ToNS   int64 `json:"toNS"`
	// Due is the number of requests that the schedule had in the interval.
	Due      int64     `json:"due"`
	Answers  []Answer  `json:"answers,omitempty"`
	Failures []Failure `json:"failures,omitempty"`
	// LateNS is by how much the latest of them was sent after it was due.
	LateNS int64 `json:"lateNS,omitempty"`
	// Latency counts the answers by their time from when they were due to when
	// they were there, in microseconds: an HDR histogram of two significant
	// digits, of which only the buckets that hold any are listed, by their
	// lowest value.
	Latency []Bucket `json:"latency,omitempty"`
}

// Answer is a pod with the number of requests that it answered.
type Answer struct {
	// Version is the template's, from the label reckon.dev/version.
	Version string `json:"version"`
	// Hash is the template's: rollouts-pod-template-hash or pod-template-hash.
	Hash string `json:"hash,omitempty"`
	Pod  string `json:"pod"`
	N    int64  `json:"n"`
}

// Failure is a cause with the number of requests that failed of it.
type Failure struct {
	Cause Cause `json:"cause"`
	// Version is that of the pod which refused, where it was one.
	Version string `json:"version,omitempty"`
	// Target is what the client had chosen (a subset or a Service of the route),
	// where its error names it.
	Target string `json:"target,omitempty"`
	// Text is the first error of its kind in the interval.
	Text string `json:"text"`
	N    int64  `json:"n"`
}

// Cause is why a request was not answered.
type Cause string

const (
	// Overloaded: a server said that it serves as many requests as it can.
	Overloaded Cause = "overloaded"
	// Injected: a server failed it because it was told to fail a share.
	Injected Cause = "injected"
	// NoEndpoint: the route led to a version without a ready pod.
	NoEndpoint Cause = "no-endpoint"
	// Refused: nothing listened at the endpoint.
	Refused Cause = "refused"
	// Reset: the connection ended before the answer.
	Reset Cause = "reset"
	// TimedOut: no answer within the client's time limit.
	TimedOut Cause = "timed-out"
	// NoRoute: the client knew no route.
	NoRoute Cause = "no-route"
	// ClientRace: grpc-go chose a cluster that its balancer did not know yet. It is
	// the client's own fault, never the controller's.
	ClientRace Cause = "client-race"
	// ClientLimit: the client's circuit breaker, or a want of ports or files.
	ClientLimit Cause = "client-limit"
	// Other is anything else; Text says what.
	Other Cause = "other"
)

// Bucket is a count of a histogram.
type Bucket struct {
	US int64 `json:"us"`
	N  int64 `json:"n"`
}

// Connection is an event in the life of a proxy's connection to istiod, as the
// proxy saw it. A proxy has one connection at a time.
type Connection struct {
	Event ConnectionEvent `json:"event"`
	// Proxy names the proxy; it is the same over all its connections.
	Proxy string `json:"proxy"`
	// Replica is the one that answered, by its own account. A refusal may have none.
	Replica string `json:"replica,omitempty"`
	// AtNS is when it happened, in nanoseconds since the base.
	AtNS int64 `json:"atNS"`
	// AgeNS is the age of the connection then: since its stream's first answer.
	AgeNS int64 `json:"ageNS,omitempty"`
	// Code is that of gRPC, by name, of a connection that was closed or refused.
	// It is empty where the proxy itself closed it.
	Code string `json:"code,omitempty"`
	// Text is the error.
	Text string `json:"text,omitempty"`
}

// ConnectionEvent is what happened to a connection.
type ConnectionEvent string

const (
	// Begun: the proxy is there from now on, and has no connection yet.
	Begun ConnectionEvent = "begun"
	// Connected: the first answer of a stream is there, so istiod has admitted it.
	Connected ConnectionEvent = "connected"
	// GoAway: the server asked the proxy to leave; the stream is still open.
	GoAway ConnectionEvent = "goaway"
	// Closed: the stream has ended.
	Closed ConnectionEvent = "closed"
	// Rejected: an attempt ended without an answer.
	Rejected ConnectionEvent = "rejected"
	// Left: the proxy is there no more, nor is its connection if it had one.
	Left ConnectionEvent = "left"
)

const (
	// Connections is the resource of gaps in what is known of the proxies' connections.
	Connections = "connections.xds"
	// FleetSampler is the sampler that is late where the proxies themselves were
	// held up, so that the times of their events are not to be trusted.
	FleetSampler = "fleet"
)

// Replica is an event in the life of a replica of istiod.
type Replica struct {
	// Name is that which its answers carry (POD_NAME).
	Name  string       `json:"name"`
	Event ReplicaEvent `json:"event"`
	// AtNS is when it happened, in nanoseconds since the base.
	AtNS int64 `json:"atNS"`
	// How says by what means, of one that was taken away: "SIGKILL", "eviction".
	How string `json:"how,omitempty"`
}

// ReplicaEvent is what happened to a replica.
type ReplicaEvent string

const (
	// ReplicaStarted: its process or pod was made.
	ReplicaStarted ReplicaEvent = "started"
	// ReplicaReady: new connections may choose it, behind a Service once its rules name it.
	ReplicaReady ReplicaEvent = "ready"
	// ReplicaUnready: it is there, and new connections do not choose it any more.
	ReplicaUnready ReplicaEvent = "unready"
	// ReplicaStopped: its kubelet says that the pod's program has ended; the pod's network
	// is gone by then too. Not of processes.
	ReplicaStopped ReplicaEvent = "stopped"
	// ReplicaGone: its process or pod has ended.
	ReplicaGone ReplicaEvent = "gone"
)

// Names of the samples that the client of the traffic takes of its routes.
const (
	// DeliveredWeight is the weight that istiod delivered for a target (label
	// "target") of a route (label "route"), in percent.
	DeliveredWeight = "delivered_weight"
	// Delivered is the resource of gaps in the stream from istiod.
	Delivered = "delivered.xds"
)

// Names of the samples of what the kernel counts of a container with a limit on CPU,
// as kubelets call them. Of a process that stands for one they are taken from its
// cgroup.
const (
	CPUPeriods   = "container_cpu_cfs_periods_total"
	CPUThrottled = "container_cpu_cfs_throttled_periods_total"
	CPULost      = "container_cpu_cfs_throttled_seconds_total"
	CPUUse       = "container_cpu_usage_seconds_total"
	// ContainerLabel names the container, and IstiodContainer is istiod's.
	ContainerLabel  = "container"
	IstiodContainer = "discovery"
	// MachineCPUs is how many CPUs the machine has.
	MachineCPUs = "machine_cpu_cores"
)

// Names of the samples of a replica's memory, in bytes, with the label "replica".
const (
	// ResidentMemory is what is in memory of a process, PeakMemory the most that ever
	// was, and AnonymousMemory the part of what is that is no copy of a file: the
	// program's own text is no part of it.
	ResidentMemory  = "memory_resident_bytes"
	PeakMemory      = "memory_peak_bytes"
	AnonymousMemory = "memory_anonymous_bytes"
	// LiveHeap is what a Go program's heap holds once its garbage was collected, which
	// the script had it do. The label "at" is what the script calls the occasion.
	LiveHeap = "heap_live_bytes"
)

// Call is a write of ours: what was asked of the API server, what it said, how
// long it took (nanoseconds). T is the time of the answer.
type Call struct {
	Verb     string          `json:"verb"`
	Resource string          `json:"resource"`
	Name     string          `json:"name"`
	Body     json.RawMessage `json:"body,omitempty"`
	Error    string          `json:"error,omitempty"`
	// Code is that of the HTTP response, 0 if there was none.
	Code int `json:"code,omitempty"`
	// Failure is the Status object that said no, with its causes.
	Failure    json.RawMessage `json:"failure,omitempty"`
	DurationNS int64           `json:"durationNS"`
	// RV is the resourceVersion that the write produced, 0 if none.
	RV uint64 `json:"rv,omitempty"`
}

// Log is one line that a component wrote.
type Log struct {
	Component string `json:"component"`
	// Process is which of the component's processes wrote it, in the order of their start
	// from 1; 0 where the run has one only.
	Process int    `json:"process,omitempty"`
	Line    string `json:"line"`
}

// Gap marks an interval in which the watch of a resource was not served.
type Gap struct {
	Resource string `json:"resource"`
	// FromNS and ToNS bound the interval, in nanoseconds since the base.
	FromNS int64 `json:"fromNS"`
	ToNS   int64 `json:"toNS"`
	// Lossless: the watch resumed at the version it had, so every change was
	// delivered and only receipt times inside the interval are uncertain.
	// Otherwise the resource was listed anew and states in between are lost.
	Lossless bool   `json:"lossless"`
	Reason   string `json:"reason"`
}

// Late marks a sampler tick that came later than its interval allows.
type Late struct {
	Sampler string `json:"sampler"`
	ByNS    int64  `json:"byNS"`
	// AtNS is when it came at last, in nanoseconds since the base, where that is not
	// when it was received.
	AtNS int64 `json:"atNS,omitempty"`
}

// Fault makes a run invalid: the environment or the recorder failed.
type Fault struct {
	// What failed: "argo-rollouts", "kube-apiserver", "recorder", "script".
	What   string `json:"what"`
	Detail string `json:"detail"`
}

// Trailer is the last line. A recording without one was cut.
type Trailer struct {
	Facts int64 `json:"facts"`
	// Bytes counts the uncompressed bytes before the trailer.
	Bytes int64 `json:"bytes"`
	// EndNS is the time of the last act of the recorder, ns since the base.
	EndNS int64 `json:"endNS"`
	// Digest is "sha256:" over all lines before the trailer, newlines included,
	// and then "<facts> facts, <bytes> bytes, end <endNS>".
	Digest string `json:"digest"`
}

type line struct {
	Header  *Header  `json:"header,omitempty"`
	Trailer *Trailer `json:"trailer,omitempty"`
	Fact
}
