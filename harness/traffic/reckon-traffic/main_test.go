package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/traffic"
	"reckon.dev/reckon/harness/traffic/xdstest"
)

// asProgram makes the test binary the program itself, which can be sent signals.
const asProgram = "RECKON_TRAFFIC_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// program is one started as a process.
type program struct {
	t     testing.TB
	cmd   *exec.Cmd
	in    io.Writer
	out   io.Reader
	ended chan struct{}
}

func start(t testing.TB, args []string, env ...string) *program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, cmd: exec.Command(self, args...), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), append(env, asProgram+"=1")...)
	p.cmd.Stderr = os.Stderr
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.out = write, read
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		_ = read.Close()
	})
	return p
}

func (p *program) term() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Error(err)
	}
}

// exitCode waits for the end.
func (p *program) exitCode() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		p.t.Fatal("still running after 20 s")
	}
	return p.cmd.ProcessState.ExitCode()
}

// server is a pod as a process.
type server struct {
	*program
	grpcAt, httpAt string
	lines          *bufio.Scanner
}

var startLine = regexp.MustCompile(`start grpc=(\S+) http=(\S+)`)

func startServer(t testing.TB, env ...string) *server {
	t.Helper()
	args := []string{"serve", "-grpc", "127.0.0.1:0", "-http", "127.0.0.1:0"}
	s := &server{program: start(t, args, append([]string{"POD_NAME=app-1", "VERSION=v1", "TEMPLATE_HASH=abc"}, env...)...)}
	s.lines = bufio.NewScanner(s.out)
	if !s.lines.Scan() {
		t.Fatal("the server did not start")
	}
	at := startLine.FindStringSubmatch(s.lines.Text())
	if at == nil {
		t.Fatalf("first line %q", s.lines.Text())
	}
	s.grpcAt, s.httpAt = at[1], at[2]
	return s
}

// await reads the log up to a line.
func (s *server) await(text string) {
	s.t.Helper()
	for s.lines.Scan() {
		if strings.Contains(s.lines.Text(), text) {
			return
		}
	}
	s.t.Fatalf("no line with %q", text)
}

// request returns the status of one request on a connection of its own, 0 for none.
func (s *server) request() int {
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Post("http://"+s.httpAt+"/", "", nil)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// inFlight sends a request that the server works on when SIGTERM comes. It
// returns what became of it and of one that came after the signal.
func inFlight(t *testing.T, env ...string) (before, after, exit int) {
	t.Helper()
	s := startServer(t, append(env, "WORK=800ms")...)
	status := make(chan int)
	go func() { status <- s.request() }()
	time.Sleep(300 * time.Millisecond)
	s.term()
	s.await("SIGTERM")
	time.Sleep(50 * time.Millisecond)
	go func() { status <- s.request() }()
	first, second := <-status, <-status // in order of their ends
	if onlyOne := first == 0 && second == http.StatusOK; onlyOne {
		first, second = second, first // the refused one ends first
	}
	return first, second, s.exitCode()
}

func TestSIGTERMDoesWhatTheServerWasTold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		env           []string
		before, after int
	}{
		{"drain finishes what is in flight and takes no more", []string{"ON_TERM=drain"}, http.StatusOK, 0},
		{"exit loses both", []string{"ON_TERM=exit"}, 0, 0},
		{"linger serves both", []string{"ON_TERM=linger", "LINGER=2s"}, http.StatusOK, http.StatusOK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before, after, exit := inFlight(t, tt.env...)
			if before != tt.before || after != tt.after || exit != 0 {
				t.Errorf("request in flight %d, request after %d, exit code %d; want %d, %d, 0", before, after, exit, tt.before, tt.after)
			}
		})
	}
}

// record is a client's record under way.
type record struct {
	tap  *traffic.Tap
	done sync.WaitGroup

	mu    sync.Mutex
	facts []recording.Fact
}

// logDelay is how late a line may come: tests of processes run side by side, and a
// benchmark keeps both processors busy.
const logDelay = 20 * time.Second

func tap(t testing.TB, client string, from io.Reader) *record {
	t.Helper()
	r := &record{}
	r.tap = traffic.NewTap(traffic.TapConfig{Client: client, Base: time.Now(), Now: time.Now, Delay: logDelay}, func(f recording.Fact) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.facts = append(r.facts, f)
	})
	r.done.Go(func() {
		if err := r.tap.Read(from); err != nil {
			t.Error(err)
		}
	})
	select {
	case <-r.tap.Started():
	case <-time.After(20 * time.Second):
		t.Fatal("the client did not start")
	}
	return r
}

// counts are the answers and the failures by cause, when all was read.
func (r *record) counts(t testing.TB) (answered int64, failures map[recording.Cause]int64) {
	t.Helper()
	r.done.Wait()
	if err := r.tap.Close(); err != nil {
		t.Error(err)
	}
	failures = map[recording.Cause]int64{}
	for _, f := range r.facts {
		if f.Traffic == nil {
			continue
		}
		for _, a := range f.Traffic.Answers {
			answered += a.N
		}
		for _, x := range f.Traffic.Failures {
			failures[x.Cause] += x.N
		}
	}
	return answered, failures
}

// proxyless starts a client of a server that is routed to by a control plane.
func proxyless(t testing.TB, grpcAt string, more ...string) (*program, *record) {
	t.Helper()
	const host = "app.demo.svc.cluster.local"
	on, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	istiod := xdstest.New(host, "8080", xdstest.State{
		Endpoints: map[string][]string{"": {grpcAt}}, Routes: []xdstest.Route{{Name: "primary", Weights: map[string]uint32{"": 1}}},
	})
	istiod.Start(on, 0)
	t.Cleanup(istiod.Stop)
	args := append([]string{"load", "-target", host + ":8080", "-rate", "200", "-istiod", on.Addr().String()}, more...)
	p := start(t, args,
		"POD_NAME=load-0", "POD_NAMESPACE=demo", "POD_IP=127.0.0.1")
	return p, tap(t, "grpc", p.out)
}

func TestSIGTERMEndsAClientWithAWholeRecord(t *testing.T) {
	t.Parallel()
	s := startServer(t, "WORK=100ms")
	grpc, rpcs := proxyless(t, s.grpcAt)
	http := start(t, []string{"load", "-transport", "http", "-target", "http://" + s.httpAt, "-rate", "100"})
	requests := tap(t, "http", http.out)
	time.Sleep(500 * time.Millisecond)
	grpc.term()
	http.term()
	for client, r := range map[*program]*record{grpc: rpcs, http: requests} {
		answered, failures := r.counts(t)
		if code := client.exitCode(); code != 0 || answered < 20 || len(failures) > 0 {
			t.Errorf("exit code %d, %d answers, failures %v", code, answered, failures)
		}
	}
}

func TestAServerThatExitsLosesWhatWasInFlightAndRefusesTheRest(t *testing.T) {
	t.Parallel()
	s := startServer(t, "ON_TERM=exit", "WORK=100ms")
	client, r := proxyless(t, s.grpcAt)
	time.Sleep(300 * time.Millisecond)
	s.term()
	s.exitCode()
	time.Sleep(200 * time.Millisecond)
	client.term()
	answered, failures := r.counts(t)
	if answered == 0 || failures[recording.Reset] == 0 || failures[recording.Refused] == 0 || len(failures) != 2 {
		t.Errorf("%d answers, failures %v; want some reset and some refused", answered, failures)
	}
}

// fleet starts proxies that connect to n istiods evenly. rest is of its command line.
func fleet(t testing.TB, n int, mesh xdstest.Mesh, rest ...string) (*program, *record, []*xdstest.Istiod) {
	t.Helper()
	var all []*xdstest.Istiod
	var ready []string
	for i := range n {
		on, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("istiod-%d", i)
		x := xdstest.NewIstiod(name, mesh)
		x.Start(on, 0, 0)
		t.Cleanup(x.Stop)
		all, ready = append(all, x), append(ready, fmt.Sprintf("%q", name+"="+on.Addr().String()))
	}
	p := start(t, append([]string{"fleet", "-together"}, rest...))
	if _, err := fmt.Fprintf(p.in, `{"ready":[%s]}`+"\n", strings.Join(ready, ",")); err != nil {
		t.Fatal(err)
	}
	return p, tap(t, "fleet", p.out), all
}

// awaitOpen waits until so many proxies are connected.
func (r *record) awaitOpen(t testing.TB, n int64, limit time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(limit); r.tap.Fleet().Open < n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("connected after %v: %+v, want %d", limit, r.tap.Fleet(), n)
		}
	}
}

func TestSIGTERMEndsAFleetWithAWholeRecord(t *testing.T) {
	t.Parallel()
	p, r, all := fleet(t, 2, xdstest.Mesh{"a.demo"}, "-proxies", "40")
	r.awaitOpen(t, 40, 20*time.Second)
	if _, err := io.WriteString(p.in, `{"grow":10}`+"\n"); err != nil {
		t.Fatal(err)
	}
	r.awaitOpen(t, 50, 20*time.Second)
	if open := all[0].Open() + all[1].Open(); open != 50 {
		t.Errorf("%d streams, want 50", open)
	}
	p.term()
	r.done.Wait()
	if err := r.tap.Close(); err != nil {
		t.Error(err)
	}
	if totals := r.tap.Fleet(); p.exitCode() != 0 || totals.Proxies != 50 || totals.Connects-totals.Closes != totals.Open {
		t.Errorf("exit code %d, %+v", p.exitCode(), totals)
	}
}

func TestWrongCommandLinesExitWithTwo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args string
		want string
	}{
		{"", "usage: reckon-traffic serve"},
		{"dance", "usage: reckon-traffic serve"},
		{"serve -colour red", "flag provided but not defined: -colour"},
		{"serve", "reckon-traffic serve: POD_NAME is not set; VERSION is not set\n"},
		{"fleet -together", "reckon-traffic fleet: -proxies is 0"},
		{"load", `reckon-traffic load: -target is "", want HOST:PORT`},
	} {
		var stderr bytes.Buffer
		if code := run(strings.Fields(tt.args), func(string) string { return "" }, strings.NewReader(""), io.Discard, &stderr); code != 2 || !strings.Contains(stderr.String(), tt.want) {
			t.Errorf("%q: exit code %d, %s; want %s", tt.args, code, &stderr, tt.want)
		}
	}
	var stderr bytes.Buffer
	if code := run([]string{"load", "-h"}, os.Getenv, strings.NewReader(""), io.Discard, &stderr); code != 0 || !strings.Contains(stderr.String(), "requests per second") {
		t.Errorf("help: exit code %d, %s", code, &stderr)
	}
}
