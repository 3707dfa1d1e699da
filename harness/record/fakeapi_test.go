package record

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// fakeAPI serves list and watch of config maps (and other core resources that
// it is told of) with the semantics of an API server: one version counter, a
// history to resume from, bookmarks, 410 for what was forgotten. It can drop
// connections, go down and come back at the same address.
type fakeAPI struct {
	t    testing.TB
	addr string

	mu        sync.Mutex
	server    *httptest.Server
	served    map[string]bool
	rv        int
	objects   map[string]string // by resource/namespace/name, as JSON
	history   []fakeEvent
	forgotten int           // versions up to this one cannot be resumed at
	changed   chan struct{} // closed at every change
	epoch     int           // watches of an older epoch end
	ending    fakeEnding    // how they end
	watches   int           // established so far
	refuse    int           // status of every answer, 0 for none
}

type fakeEvent struct {
	rv             int
	resource, line string
}

type fakeEnding int

const (
	cutOff    fakeEnding = iota // the connection breaks
	endOfData                   // the server ends the answer in order
	gone                        // the server sends an error event with 410
)

func newFakeAPI(t testing.TB) *fakeAPI {
	f := &fakeAPI{
		t: t, rv: 100, served: map[string]bool{"configmaps": true},
		objects: map[string]string{}, changed: make(chan struct{}),
	}
	f.up()
	t.Cleanup(f.down)
	return f
}

func (f *fakeAPI) config() *rest.Config { return &rest.Config{Host: "http://" + f.addr} }

// up starts the server, at its former address if it had one.
func (f *fakeAPI) up() {
	f.t.Helper()
	addr := f.addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		f.t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(f)
	srv.Listener.Close()
	srv.Listener = l
	f.mu.Lock()
	defer f.mu.Unlock()
	f.addr, f.server = l.Addr().String(), srv
	srv.Start()
}

// down breaks all connections and stops listening. It may be called again.
func (f *fakeAPI) down() {
	f.mu.Lock()
	srv := f.server
	f.server = nil
	f.epoch++
	f.ending = cutOff
	f.notify()
	f.mu.Unlock()
	if srv == nil {
		return
	}
	srv.Listener.Close()
	srv.CloseClientConnections()
	srv.Close()
}

// end ends all present watches.
func (f *fakeAPI) end(how fakeEnding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.epoch++
	f.ending = how
	f.notify()
}

// forget makes it impossible to resume at any version up to now.
func (f *fakeAPI) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rv++
	f.forgotten = f.rv
}

func (f *fakeAPI) refuseAll(status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse = status
}

func (f *fakeAPI) notify() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// set creates or updates a config map in the namespace "drill".
func (f *fakeAPI) set(name, data string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rv++
	key, kind := "configmaps/drill/"+name, "MODIFIED"
	if f.objects[key] == "" {
		kind = "ADDED"
	}
	f.objects[key] = f.configMap(name, data)
	f.happen(kind, f.objects[key])
	return f.rv
}

func (f *fakeAPI) remove(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rv++
	delete(f.objects, "configmaps/drill/"+name)
	f.happen("DELETED", f.configMap(name, "deleted"))
	return f.rv
}

func (f *fakeAPI) bookmark() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rv++
	f.happen("BOOKMARK", fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"%d","creationTimestamp":null}}`, f.rv))
	return f.rv
}

func (f *fakeAPI) happen(kind, object string) {
	f.history = append(f.history, fakeEvent{f.rv, "configmaps", eventLine(kind, object)})
	f.notify()
}

func (f *fakeAPI) configMap(name, data string) string {
	return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":%s,"data":{"v":%q}}`, metadata(name, f.rv), data)
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	resource := req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:]
	f.mu.Lock()
	refuse, served, down := f.refuse, f.served[resource], f.server == nil
	f.mu.Unlock()
	if down {
		panic(http.ErrAbortHandler)
	}
	switch {
	case refuse != 0:
		refuseWith(w, refuse, "Refused")
	case req.Method != http.MethodGet:
		f.write(w, req)
	case !served:
		refuseWith(w, http.StatusNotFound, "NotFound")
	case req.URL.Query().Get("watch") != "":
		f.watch(w, req, resource)
	default:
		f.list(w, resource)
	}
}

func refuseWith(w http.ResponseWriter, code int, reason string) {
	w.WriteHeader(code)
	io.WriteString(w, fakeStatus(code, reason))
}

func fakeStatus(code int, reason string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"as the test asked","reason":%q,"code":%d}`, reason, code)
}

func (f *fakeAPI) list(w http.ResponseWriter, resource string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var items []string
	for key, object := range f.objects {
		if strings.HasPrefix(key, resource+"/") {
			items = append(items, object)
		}
	}
	io.WriteString(w, listBody(f.rv, items...))
}

func (f *fakeAPI) watch(w http.ResponseWriter, req *http.Request, resource string) {
	from, _ := strconv.Atoi(req.URL.Query().Get("resourceVersion"))
	f.mu.Lock()
	if from < f.forgotten {
		f.mu.Unlock()
		refuseWith(w, http.StatusGone, "Expired")
		return
	}
	epoch := f.epoch
	if f.server == nil { // went down meanwhile
		epoch--
	}
	f.watches++
	f.mu.Unlock()
	w.WriteHeader(http.StatusOK)
	for at := 0; ; {
		w.(http.Flusher).Flush()
		f.mu.Lock()
		news, ended, ending, changed := f.history[at:], f.epoch != epoch, f.ending, f.changed
		f.mu.Unlock()
		if ended {
			finish(w, ending)
			return
		}
		for _, e := range news {
			if e.resource == resource && e.rv > from {
				io.WriteString(w, e.line)
			}
		}
		at += len(news)
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-req.Context().Done():
			return
		}
	}
}

func finish(w http.ResponseWriter, how fakeEnding) {
	switch how {
	case cutOff:
		panic(http.ErrAbortHandler)
	case gone:
		io.WriteString(w, eventLine("ERROR", fakeStatus(410, "Expired")))
	}
}

// write answers a write of a config map as the API server would.
func (f *fakeAPI) write(w http.ResponseWriter, req *http.Request) {
	var body struct{ Metadata struct{ Name string } }
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil || body.Metadata.Name == "bad" {
		refuseWith(w, http.StatusUnprocessableEntity, "Invalid")
		return
	}
	f.set(body.Metadata.Name, "written")
	f.mu.Lock()
	defer f.mu.Unlock()
	w.WriteHeader(http.StatusCreated)
	io.WriteString(w, f.objects["configmaps/drill/"+body.Metadata.Name])
}

func (f *fakeAPI) established() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.watches
}

// awaitWatches returns once n watches have been established altogether.
func (f *fakeAPI) awaitWatches(ctx context.Context, n int) {
	f.t.Helper()
	eventually(ctx, f.t, func() bool { return f.established() >= n })
}
