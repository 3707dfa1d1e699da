// Package embedded makes Kubernetes clusters out of processes on the loopback
// interface: real etcd, kube-apiserver, kube-controller-manager and
// kube-scheduler; kwok simulates nodes and pods.
//
// The assembly is our own instead of kwokctl's binary runtime, because drills
// run on shared machines and side by side: here etcd speaks TLS and asks for
// client certificates, nothing listens beyond loopback, each component has its
// own certificate and rights, ports are reserved before they are used, and a
// killed drill leaves no process.
package embedded
