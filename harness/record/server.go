package record

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const (
	// pageSize bounds the objects of one page of a list.
	pageSize = 500
	// watchTimeout asks the server to keep a watch open; left to itself it
	// closes one within an hour. Seconds.
	watchTimeout = 24 * 60 * 60
	// streamBuffer holds what one read of a watch may bring, in bytes.
	streamBuffer = 256 << 10
	// maxEvent bounds one line of a watch, in bytes.
	maxEvent = 16 << 20
	// pageLimit bounds the time that one page may take.
	pageLimit = time.Minute
	// maxStatus bounds the answer that explains a refusal, in bytes.
	maxStatus = 64 << 10

	acceptWhole    = "application/json"
	acceptMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1," + acceptWhole
)

// server lists and watches in plain JSON. The bytes of objects are passed on
// as they come: decoding them into maps and encoding them again would cost
// more than everything else that the recorder does.
type server struct {
	base *url.URL
	http *http.Client
}

func newServer(cfg *rest.Config) (*server, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = 0 // it would end watches
	cfg.DisableCompression = true
	if cfg.UserAgent == "" {
		cfg.UserAgent = "reckon-recorder"
	}
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	return &server{base: base, http: client}, nil
}

// get opens the answer to a GET of a resource. A refusal is an API status error.
func (s *server) get(ctx context.Context, res Resource, accept string, query url.Values) (io.ReadCloser, error) {
	u := *s.base
	u.Path = path.Join("/", u.Path, resourcePath(res))
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	resp, err := s.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxStatus))
	return nil, statusError(resp.StatusCode, text)
}

func resourcePath(res Resource) string {
	root := "api"
	if res.GVR.Group != "" {
		root = "apis/" + res.GVR.Group
	}
	if res.Namespace == "" {
		return path.Join(root, res.GVR.Version, res.GVR.Resource)
	}
	return path.Join(root, res.GVR.Version, "namespaces", res.Namespace, res.GVR.Resource)
}

// statusError makes an API error of a refusal, which may not hold a Status.
func statusError(code int, text []byte) error {
	var st metav1.Status
	if err := json.Unmarshal(text, &st); err != nil || st.Kind != "Status" {
		st = metav1.Status{Status: metav1.StatusFailure, Message: http.StatusText(code)}
	}
	if st.Code == 0 {
		st.Code = int32(code)
	}
	return &apierrors.StatusError{ErrStatus: st}
}

// list calls each with every object of the resource and returns the version of
// the list, which is consistent: as of now or later. The object's bytes are
// each's to keep.
func (s *server) list(ctx context.Context, res Resource, accept string, each func(object []byte) error) (version uint64, err error) {
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	for {
		v, next, err := s.page(ctx, res, accept, query, each)
		if err != nil {
			return 0, err
		}
		if version == 0 {
			version = v
		}
		if next == "" {
			return version, nil
		}
		query.Set("continue", next)
	}
}

func (s *server) page(ctx context.Context, res Resource, accept string, query url.Values, each func([]byte) error) (version uint64, next string, err error) {
	ctx, cancel := context.WithTimeout(ctx, pageLimit)
	defer cancel()
	body, err := s.get(ctx, res, accept, query)
	if err != nil {
		return 0, "", err
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		return 0, "", err
	}
	var list struct {
		Metadata struct {
			ResourceVersion uint64 `json:"resourceVersion,string"`
			Continue        string `json:"continue"`
		} `json:"metadata"`
	}
	it := walk(text)
	for it.next() && err == nil {
		switch string(it.key) {
		case "metadata":
			err = json.Unmarshal(it.value, &list.Metadata)
		case "items":
			err = eachElement(it.value, each)
		}
	}
	return list.Metadata.ResourceVersion, list.Metadata.Continue, firstError(err, it.err)
}

func eachElement(array []byte, each func([]byte) error) error {
	if string(array) == "null" {
		return nil
	}
	it := walk(array)
	for it.next() {
		if err := each(it.value); err != nil {
			return err
		}
	}
	return it.err
}

// watch opens the stream of changes after a version. It is established when
// this returns: the server has answered.
func (s *server) watch(ctx context.Context, res Resource, version uint64) (*stream, error) {
	body, err := s.get(ctx, res, acceptWhole, url.Values{
		"watch":               {"true"},
		"allowWatchBookmarks": {"true"},
		"resourceVersion":     {strconv.FormatUint(version, 10)},
		"timeoutSeconds":      {strconv.Itoa(watchTimeout)},
	})
	if err != nil {
		return nil, err
	}
	return &stream{body: body, lines: bufio.NewReaderSize(body, streamBuffer)}, nil
}

// stream reads the events of a watch, one line each.
type stream struct {
	body   io.Closer
	cancel context.CancelFunc
	lines  *bufio.Reader
	long   []byte
}

// next returns one event, valid until the next call. io.EOF means that the
// server ended the watch in order; every other error, that it was cut.
func (s *stream) next() ([]byte, error) {
	text, err := s.lines.ReadSlice('\n')
	if err == nil {
		return text, nil
	}
	s.long = s.long[:0]
	for errors.Is(err, bufio.ErrBufferFull) {
		if s.long = append(s.long, text...); len(s.long) > maxEvent {
			return nil, fmt.Errorf("an event is longer than %d bytes", maxEvent)
		}
		text, err = s.lines.ReadSlice('\n')
	}
	if s.long = append(s.long, text...); err == io.EOF && len(s.long) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return s.long, err
}

func (s *stream) close() {
	if s.cancel != nil {
		s.cancel()
	}
	_ = s.body.Close()
}
