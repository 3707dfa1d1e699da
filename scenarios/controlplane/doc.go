// Package controlplane is what the scenarios about istiod's replicas and their
// proxies share: parameters, the script's steps, and an answer key of the
// connection model.
//
// When a replica is Ready is for the machine to decide, not for the model: a
// process takes 2 s on an idle machine and 10 s beside twenty others. So a
// prediction before the run takes a nominal start; the judge plays the same model
// with the times at which replicas really came and went, and with nothing else of
// the recording.
package controlplane
