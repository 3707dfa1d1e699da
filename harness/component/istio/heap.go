package istio

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"reckon.dev/reckon/harness/recording"
)

// heapPage is Go's profile of a heap as text, after a collection of garbage
// (net/http/pprof/pprof.go, handler.ServeHTTP). istiod has it where its metrics are,
// for whoever asks from the same machine (pilot/pkg/xds/debug.go:182 and :248, 1.31).
const heapPage = "/debug/pprof/heap?gc=1&debug=1"

// collections are made in a row: a sync.Pool gives up what it holds at the second.
const collections = 2

// Collect lets a replica collect its garbage and tells what its heap holds then.
func (p *Processes) Collect(ctx context.Context, name, at string) error {
	p.mu.Lock()
	found, err := p.find([]string{name})
	p.mu.Unlock()
	if err != nil {
		return err
	}
	live := 0.0
	for range collections {
		if live, err = p.liveHeap(ctx, found[0].metrics); err != nil {
			return fmt.Errorf("the live heap of %s: %w", name, err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cfg.Sampled(recording.Sample{Series: recording.LiveHeap, Labels: map[string]string{"replica": name, "at": at}, Value: live})
	return nil
}

func (p *Processes) liveHeap(ctx context.Context, address string) (bytes float64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+heapPage, nil)
	if err != nil {
		return 0, err
	}
	resp, err := p.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("GET %s: %s", heapPage, resp.Status)
	}
	return heapAlloc(resp.Body)
}

// heapAlloc reads runtime.MemStats.HeapAlloc off a profile, which was taken before the
// profile was put together (runtime/pprof/pprof.go, writeHeapInternal).
func heapAlloc(profile io.Reader) (bytes float64, err error) {
	lines := bufio.NewScanner(profile)
	lines.Buffer(nil, 1<<20)
	bytes = -1
	for lines.Scan() { // to the end: the connection is used again
		if text, ok := strings.CutPrefix(lines.Text(), "# HeapAlloc = "); ok {
			if bytes, err = strconv.ParseFloat(text, 64); err != nil {
				return 0, fmt.Errorf("%q is no number of bytes", lines.Text())
			}
		}
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	if bytes < 0 {
		return 0, errors.New(`a profile without the line "# HeapAlloc"`)
	}
	return bytes, nil
}

// errNotAsked says why a pod's heap is not known.
var errNotAsked = errors.New("only istiods that are processes can be asked for their live heap: what comes to a pod through the API server is not from its own machine")

// Collect is for processes only.
func (d *Deployment) Collect(context.Context, string, string) error { return errNotAsked }
