package echo

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Method is the one RPC: an empty message for an empty message. Who answered is
// in the trailer, which failures have too; that makes generated code needless.
const Method = "/reckon.traffic.v1.Echo/Call"

// Keys of a trailer, and with that the names of HTTP headers.
const (
	PodKey     = "reckon-pod"
	VersionKey = "reckon-version"
	HashKey    = "reckon-template-hash"
	// CauseKey says why the server failed a request: a recording.Cause.
	CauseKey = "reckon-cause"
)

// service is the interface that grpc checks the implementation against.
type service interface {
	call(ctx context.Context) error
}

func description() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: "reckon.traffic.v1.Echo",
		HandlerType: (*service)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Call", Handler: handle}},
	}
}

// handle is what generated code would do, without support for interceptors.
func handle(srv any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	if err := decode(new(emptypb.Empty)); err != nil {
		return nil, err
	}
	if err := srv.(service).call(ctx); err != nil {
		return nil, err
	}
	return new(emptypb.Empty), nil
}

// call serves one RPC.
func (s *Server) call(ctx context.Context) error {
	who := metadata.Pairs(PodKey, s.cfg.Pod, VersionKey, s.cfg.Version, HashKey, s.cfg.Hash)
	err := s.work(ctx)
	refused, isRefusal := err.(refusal)
	if isRefusal {
		who.Set(CauseKey, string(refused.cause))
	}
	if err := grpc.SetTrailer(ctx, who); err != nil {
		return err
	}
	if isRefusal {
		return status.Error(refused.code, refused.Error())
	}
	if err != nil {
		return status.FromContextError(err).Err()
	}
	return nil
}

// refusal is a failure that the server was told to have.
type refusal struct {
	cause  cause
	code   codes.Code
	status int // of HTTP
}

func (r refusal) Error() string { return string(r.cause) }
