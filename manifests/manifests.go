// Package manifests holds every YAML that reaches a cluster.
package manifests

import "embed"

// Files are the manifests by path, such as "rollback/workload.yaml".
//
//go:embed bluegreen/*.yaml istiod/*.yaml rollback/*.yaml routing/*.yaml upgrade/*.yaml workload/*.yaml
var Files embed.FS
