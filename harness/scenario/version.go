package scenario

import "strings"

// SplitVersion takes apart "directory@base"; a plain version has no directory.
func SplitVersion(v string) (dir, version string) {
	if !strings.HasPrefix(v, ".") && !strings.Contains(v, "/") {
		return "", v
	}
	dir, version, _ = strings.Cut(v, "@")
	return dir, version
}

// ModelVersion is the version that a model is asked for: a release, and of a
// directory the release that it is said to be based on.
func ModelVersion(v string) string {
	dir, version := SplitVersion(v)
	if version == "" {
		return dir
	}
	return version
}
