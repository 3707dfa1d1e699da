package plan

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"

	"reckon.dev/reckon/harness/scenario"
)

// settleControllerManager refuses a controller manager that may not run against
// the API server, and leaves one out that is no other than Kubernetes' own.
func settleControllerManager(versions map[string]string) error {
	manager, ok := versions[scenario.ControllerManager]
	if !ok {
		return nil
	}
	server := versions[scenario.Kubernetes]
	if manager == server {
		delete(versions, scenario.ControllerManager)
		return nil
	}
	for _, component := range []string{scenario.Kubernetes, scenario.ControllerManager} {
		if dir, base := SplitVersion(versions[component]); dir != "" && base == "" {
			return fmt.Errorf("%s=%s: which release is the directory based on? Say %s@v1.37.2 or the like, so that the version skew can be checked", component, dir, dir)
		}
	}
	return checkSkew(server, manager)
}

// checkSkew is the version skew policy of Kubernetes for the controller manager:
// the minor version of the API server or, as during an upgrade, the one before.
// Patch releases do not count.
func checkSkew(server, manager string) error {
	_, of := SplitVersion(server)
	_, base := SplitVersion(manager)
	allowed := minorsFor(of)
	for _, minor := range allowed {
		if semver.MajorMinor(base) == minor {
			return nil
		}
	}
	return fmt.Errorf("%s %s cannot run against the kube-apiserver of %s %s: the version skew policy of Kubernetes allows %s",
		scenario.ControllerManager, manager, scenario.Kubernetes, server, strings.Join(allowed, " and "))
}

// minorsFor lists the minor versions that go with an API server, its own first.
func minorsFor(server string) []string {
	own := semver.MajorMinor(server)
	minor, err := strconv.Atoi(strings.TrimPrefix(own, semver.Major(server)+"."))
	if err != nil || minor == 0 {
		return []string{own}
	}
	return []string{own, fmt.Sprintf("%s.%d", semver.Major(server), minor-1)}
}
