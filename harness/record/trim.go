package record

import (
	"bytes"
	"fmt"
	"strconv"
)

// Trim appends the part of an API object that is worth recording to dst. Both
// are JSON; the object must not be changed.
type Trim func(dst, object []byte) ([]byte, error)

// TrimObject keeps all but managedFields and kubectl's last applied copy.
func TrimObject(dst, object []byte) ([]byte, error) { return objectRule.append(dst, object) }

// TrimPod keeps identity, labels, annotations, owners, where a pod runs, its
// readiness gates and what its status says about readiness and restarts.
func TrimPod(dst, object []byte) ([]byte, error) { return podRule.append(dst, object) }

// rule says which members of an object stay. A listed member with a rule of
// its own is trimmed by it (each element, if it is an array). A listed member
// without one stays or goes, and an unlisted one goes or stays.
type rule struct {
	keep   bool
	listed map[string]*rule
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// The rules are constants: nothing changes them.
var (
	objectRule = drop(of{
		"metadata": drop(of{"managedFields": nil, "annotations": drop(of{lastApplied: nil})}),
	})
	podRule = keep(of{
		"apiVersion": nil, "kind": nil,
		"metadata": keep(of{
			"name": nil, "namespace": nil, "uid": nil, "resourceVersion": nil, "generation": nil,
			"labels": nil, "ownerReferences": nil, "finalizers": nil,
			"creationTimestamp": nil, "deletionTimestamp": nil, "deletionGracePeriodSeconds": nil,
			"annotations": drop(of{lastApplied: nil, "sidecar.istio.io/status": nil}),
		}),
		"spec": keep(of{"nodeName": nil, "readinessGates": nil}),
		"status": keep(of{
			"phase": nil, "reason": nil, "conditions": nil, "podIP": nil, "startTime": nil,
			"containerStatuses": keep(of{"name": nil, "ready": nil, "started": nil, "restartCount": nil}),
		}),
	})
)

type of = map[string]*rule

func keep(listed of) *rule { return &rule{keep: true, listed: listed} }
func drop(listed of) *rule { return &rule{listed: listed} }

func (r *rule) append(dst, value []byte) ([]byte, error) {
	value = value[skipSpace(value, 0):]
	if len(value) == 0 {
		return dst, errJSON
	}
	open := value[0]
	if open != '{' && open != '[' {
		return append(dst, value...), nil
	}
	dst = append(dst, open)
	empty := len(dst)
	var err error
	it := walk(value)
	for it.next() {
		sub := r
		if open == '{' {
			var listed bool
			if sub, listed = r.listed[string(it.key)]; sub == nil && listed != r.keep {
				continue
			}
		}
		if len(dst) > empty {
			dst = append(dst, ',')
		}
		if open == '{' {
			dst = append(append(dst, it.rawKey...), ':')
		}
		if sub == nil {
			dst = append(dst, it.value...)
		} else if dst, err = sub.append(dst, it.value); err != nil {
			return dst, err
		}
	}
	return append(dst, open+2), it.err
}

// identity is what of an object's metadata the recorder itself needs.
type identity struct {
	namespace, name []byte
	version         uint64
}

// identify reads the metadata of an object, or the version of a bookmark.
func identify(object []byte) (identity, error) {
	it := walk(object)
	for it.next() {
		if string(it.key) == "metadata" {
			return readIdentity(it.value)
		}
	}
	return identity{}, fmt.Errorf("%w: an object without metadata", errJSON)
}

func readIdentity(metadata []byte) (id identity, err error) {
	var version []byte
	it := walk(metadata)
	for err == nil && (id.name == nil || id.namespace == nil || version == nil) && it.next() {
		switch string(it.key) {
		case "name":
			id.name, err = unquote(it.value)
		case "namespace":
			id.namespace, err = unquote(it.value)
		case "resourceVersion":
			version, err = unquote(it.value)
		}
	}
	if err = firstError(err, it.err); err != nil {
		return id, err
	}
	if id.version, err = strconv.ParseUint(string(version), 10, 64); err != nil {
		return id, fmt.Errorf("resourceVersion %q is not a number", version)
	}
	return id, nil
}

// key appends the object's place in a live view, namespace/name.
func (id identity) key(dst []byte) []byte {
	return append(append(append(dst, id.namespace...), '/'), id.name...)
}

// event takes one line of a watch apart. What the API server sends is cut
// without a look at the object, which Trim will walk anyway.
func event(line []byte) (kind, object []byte, err error) {
	line = bytes.TrimSpace(line)
	if rest, ok := bytes.CutPrefix(line, []byte(`{"type":"`)); ok {
		kind, object, ok = bytes.Cut(rest, []byte(`","object":`))
		if object, closed := bytes.CutSuffix(object, []byte("}")); ok && closed && len(kind) < 16 {
			return kind, object, nil
		}
	}
	return eventOfMembers(line)
}

// eventOfMembers reads an event however it is spaced and ordered.
func eventOfMembers(line []byte) (kind, object []byte, err error) {
	it := walk(line)
	for it.next() && err == nil {
		switch string(it.key) {
		case "type":
			kind, err = unquote(it.value)
		case "object":
			object = it.value
		}
	}
	if err = firstError(err, it.err); err == nil && (len(kind) == 0 || len(object) == 0) {
		err = errJSON
	}
	return kind, object, err
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
