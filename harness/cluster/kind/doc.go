// Package kind makes real Kubernetes clusters out of containers, with kind's Go
// API: kubelets, probes, signals, kube-proxy, nothing simulated.
//
// What kind leaves to its user is done here. Its calls take no context: an
// interrupt removes the nodes under them until they return. It knows clusters by
// name only: ours carry a mark, a mount of a directory of ours, and only what
// carries it is ever removed. It shares one network between all clusters and
// leaves it behind: ours have one of their own, which goes with the last of them.
package kind
