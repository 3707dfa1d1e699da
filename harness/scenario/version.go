package scenario

import (
	"strings"

	"golang.org/x/mod/semver"
)

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

// CheckRelease refuses what is no version of Argo Rollouts as a parameter of an Upgrader.
func CheckRelease(field, version string) error {
	if semver.IsValid(ModelVersion(version)) {
		return nil
	}
	return Refuse(field, "%q is no version, expected one such as v1.9.2, or directory@v1.9.2", version)
}

// Succession are the Releases of an Upgrader by which one version of Argo Rollouts
// takes the place of another, or is started anew.
func Succession(from, to string) map[string][]string {
	releases := []string{from}
	if to != from {
		releases = append(releases, to)
	}
	return map[string][]string{ArgoRollouts: releases}
}
