package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"reckon.dev/reckon/harness/measure"
	"reckon.dev/reckon/harness/recording"
)

// reckon runs the program that RECKON names.
func reckon(b *testing.B, args ...string) {
	b.Helper()
	path := os.Getenv("RECKON")
	if path == "" {
		b.Skip("RECKON is not set: it names the reckon program")
	}
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	// An interrupted run removes its cluster.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		b.Fatalf("reckon %q: %v\n%s", args, err, &out)
	}
}

// BenchmarkStart: what needs no cluster answers at once.
func BenchmarkStart(b *testing.B) {
	const runs = 20
	var help, predict measure.Numbers
	for b.Loop() {
		for range runs {
			help.Time(func() { reckon(b, "--help") })
			predict.Time(func() { reckon(b, "predict", "rollback-window") })
		}
	}
	measure.HideTime(b)
	help.Times(1000).Report(b, "help_ms")
	predict.Times(1000).Report(b, "predict_ms")
}

// BenchmarkCell: one cell from the command to the report, and how much of that
// is the script, which waits on purpose.
func BenchmarkCell(b *testing.B) {
	benchmarkRun(b, "rollback-window", "--set", "replicas=20", "--set", "ramp=1s", "--set", "quiet=10s")
}

// BenchmarkDrill is `make drill` with everything built.
func BenchmarkDrill(b *testing.B) { benchmarkRun(b, "default") }

func benchmarkRun(b *testing.B, args ...string) {
	results := b.TempDir()
	var whole, script, rest measure.Numbers
	for b.Loop() {
		whole.Time(func() { reckon(b, append([]string{"run", "--quiet", "--results", results}, args...)...) })
		took := scriptTime(b, filepath.Join(results, "runs", "latest", "recording.jsonl.zst")).Seconds()
		script = append(script, took)
		rest = append(rest, whole[len(whole)-1]-took)
	}
	measure.HideTime(b)
	whole.Report(b, "seconds")
	script.Report(b, "script_s")
	rest.Report(b, "around_s")
}

// scriptTime is the time from the first step's begin to the last one's end.
func scriptTime(b *testing.B, file string) time.Duration {
	b.Helper()
	f, err := os.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	r, err := recording.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	var first, last time.Duration
	for {
		fact, err := r.Next()
		if errors.Is(err, io.EOF) {
			return last - first
		}
		if err != nil {
			b.Fatal(err)
		}
		if fact.Step != nil {
			if last = fact.At(); first == 0 {
				first = last
			}
		}
	}
}

// BenchmarkCompare: two campaigns of 60 recordings each, from their files to what is
// printed. They are the same, so nothing is.
func BenchmarkCompare(b *testing.B) {
	runs, err := filepath.Glob("../../results/baselines/*-kubernetes-v1.37.2-*")
	if err != nil || len(runs) < 60 {
		b.Fatalf("%d baselines (%v)", len(runs), err)
	}
	campaign := b.TempDir()
	for _, run := range runs[:60] {
		if err := os.CopyFS(filepath.Join(campaign, filepath.Base(run)), os.DirFS(run)); err != nil {
			b.Fatal(err)
		}
	}
	var whole measure.Numbers
	for b.Loop() {
		whole.Time(func() { reckon(b, "compare", "--quiet", campaign, campaign) })
	}
	measure.HideTime(b)
	whole.Report(b, "seconds")
}
