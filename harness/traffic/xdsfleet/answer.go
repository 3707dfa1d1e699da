package xdsfleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unique"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Types of resources, in the order in which an Envoy asks for them.
const (
	clusterType  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	endpointType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	listenerType = "type.googleapis.com/envoy.config.listener.v3.Listener"
	routeType    = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
	// syncType is answered by istiod with its name.
	syncType = "istio.io/debug/syncz"
)

// answer is what a proxy reads of a DeltaDiscoveryResponse.
type answer struct {
	typ, nonce string
	// replica is who answered, by its own account.
	replica   string
	resources []resource
	removed   []string
}

// resource is what a proxy keeps of a resource. All proxies have nearly the same
// ones, so each text is kept once.
type resource struct {
	name, version unique.Handle[string]
	// refs are the names of what it refers to, one a line: of a cluster its endpoints,
	// of a listener its routes.
	refs unique.Handle[string]
}

// codec reads answers from the wire without a copy of what is in them: configuration
// of a large mesh is most of what a fleet receives, and thousands of proxies connect
// at once.
type codec struct{}

// Name is that of grpc's own codec: on the wire it is the same.
func (codec) Name() string { return "proto" }

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", v)
	}
	raw, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	return mem.BufferSlice{mem.SliceBuffer(raw)}, nil
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	a, ok := v.(*answer)
	if !ok {
		return fmt.Errorf("%T is no answer", v)
	}
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer whole.Free()
	return a.parse(whole.ReadOnlyData())
}

// parse reads a DeltaDiscoveryResponse
// (go-control-plane v1.40.0, service/discovery/v3/discovery.pb.go:671).
func (a *answer) parse(raw []byte) error {
	*a = answer{}
	var resources [][]byte
	err := fields(raw, func(n protowire.Number, value []byte) error {
		switch n {
		case 2:
			resources = append(resources, value)
		case 4:
			a.typ = string(value)
		case 5:
			a.nonce = string(value)
		case 6:
			a.removed = append(a.removed, string(value))
		case 7:
			return fields(value, func(n protowire.Number, id []byte) error {
				if n == 1 {
					a.replica = replicaName(id)
				}
				return nil
			})
		}
		return nil
	})
	if err != nil {
		return err
	}
	a.resources = make([]resource, len(resources))
	for i, raw := range resources { // only now is their type known for sure
		if a.resources[i], err = parseResource(a.typ, raw); err != nil {
			return err
		}
	}
	return nil
}

// replicaName reads istiod's account of itself (pilot/pkg/xds/xdsgen.go:38, istio
// 1.31), in which ID is its POD_NAME. Another control plane's is its name.
func replicaName(identifier []byte) string {
	var instance struct{ ID string }
	if json.Unmarshal(identifier, &instance) == nil && instance.ID != "" {
		return instance.ID
	}
	return string(identifier)
}

// parseResource reads a Resource (discovery.pb.go:921).
func parseResource(typ string, raw []byte) (resource, error) {
	var name, version []byte
	var refs []string
	err := fields(raw, func(n protowire.Number, value []byte) error {
		switch n {
		case 1:
			version = value
		case 2:
			body, err := anyValue(value)
			if err != nil {
				return err
			}
			refs, err = referred(typ, body)
			return err
		case 3:
			name = value
		}
		return nil
	})
	slices.Sort(refs)
	return resource{unique.Make(string(name)), unique.Make(string(version)), unique.Make(strings.Join(slices.Compact(refs), "\n"))}, err
}

func referred(typ string, body []byte) ([]string, error) {
	switch typ {
	case clusterType:
		return endpointsOf(body)
	case listenerType:
		return routesOf(body)
	}
	return nil, nil
}

// endpointsOf reads the name of a Cluster's endpoints, if they are delivered
// (config/cluster/v3/cluster.pb.go: type 2 = EDS 3, eds_cluster_config 3 with
// service_name 2, else its own name 1).
func endpointsOf(cluster []byte) ([]string, error) {
	var name, service string
	delivered := false
	err := each(cluster, func(n protowire.Number, value []byte, number uint64) error {
		switch n {
		case 1:
			name = string(value)
		case 2:
			delivered = number == 3
		case 3:
			return fields(value, func(n protowire.Number, value []byte) error {
				if n == 2 {
					service = string(value)
				}
				return nil
			})
		}
		return nil
	})
	switch {
	case err != nil || !delivered:
		return nil, err
	case service != "":
		return []string{service}, nil
	}
	return []string{name}, nil
}

// routesOf reads the names of a Listener's routes: filter_chains 3 and
// default_filter_chain 25, filters 3, typed_config 4, rds 3, route_config_name 2
// (config/listener/v3/listener.pb.go, listener_components.pb.go,
// http_connection_manager.pb.go).
func routesOf(listener []byte) ([]string, error) {
	var out []string
	rds := only(2, func(name []byte) error {
		out = append(out, string(name))
		return nil
	})
	config := func(raw []byte) error {
		typ, manager, err := anyParts(raw)
		if err != nil || !strings.HasSuffix(typ, ".HttpConnectionManager") {
			return err
		}
		return fields(manager, only(3, func(raw []byte) error { return fields(raw, rds) }))
	}
	filter := only(4, config)
	chain := only(3, func(raw []byte) error { return fields(raw, filter) })
	err := fields(listener, func(n protowire.Number, value []byte) error {
		if n == 3 || n == 25 {
			return fields(value, chain)
		}
		return nil
	})
	return out, err
}

// only calls do with the values of one field.
func only(want protowire.Number, do func([]byte) error) func(protowire.Number, []byte) error {
	return func(n protowire.Number, value []byte) error {
		if n != want {
			return nil
		}
		return do(value)
	}
}

// anyValue is the message inside an Any, anyParts also its type.
func anyValue(raw []byte) ([]byte, error) {
	_, value, err := anyParts(raw)
	return value, err
}

func anyParts(raw []byte) (name string, value []byte, err error) {
	err = fields(raw, func(n protowire.Number, v []byte) error {
		switch n {
		case 1:
			name = string(v)
		case 2:
			value = v
		}
		return nil
	})
	return name, value, err
}

var errWire = errors.New("an answer that is no protobuf")

// fields calls do with each field of a message that has a length.
func fields(raw []byte, do func(protowire.Number, []byte) error) error {
	return each(raw, func(n protowire.Number, value []byte, _ uint64) error {
		if value == nil {
			return nil
		}
		return do(n, value)
	})
}

// each calls do with each field of a message: with its bytes, which are not nil, or
// with its number.
func each(raw []byte, do func(n protowire.Number, value []byte, number uint64) error) error {
	for len(raw) > 0 {
		n, typ, size := protowire.ConsumeTag(raw)
		if size < 0 {
			return errWire
		}
		raw = raw[size:]
		var value []byte
		var number uint64
		switch typ {
		case protowire.BytesType:
			value, size = protowire.ConsumeBytes(raw)
		case protowire.VarintType:
			number, size = protowire.ConsumeVarint(raw)
		default:
			size = protowire.ConsumeFieldValue(n, typ, raw)
		}
		if size < 0 {
			return errWire
		}
		raw = raw[size:]
		if typ == protowire.BytesType || typ == protowire.VarintType {
			if err := do(n, value, number); err != nil {
				return err
			}
		}
	}
	return nil
}
