package process

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

const (
	// maxLine is where a line without an end is cut.
	maxLine = 64 << 10
	// drainTimeout bounds the wait for the rest of a dead child's log: only a
	// grandchild in another process group can hold the pipe open.
	drainTimeout = time.Second
	// tailBytes is how far back tail looks.
	tailBytes = 64 << 10
)

// logSink is where a child's output goes: straight into the file, or through a
// pipe when somebody wants the lines.
type logSink struct {
	writer *os.File // the child's standard output
	offset int64    // where this child's part of the file begins

	file   *os.File
	reader *os.File // nil without a tee
	onLine func(string)
	done   chan struct{}
}

func openLog(spec Spec) (*logSink, error) {
	file, err := os.OpenFile(spec.LogPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("log: %w", err), file.Close())
	}
	sink := &logSink{writer: file, file: file, offset: info.Size(), onLine: spec.OnLine, done: make(chan struct{})}
	if spec.OnLine == nil {
		return sink, nil
	}
	if sink.reader, sink.writer, err = os.Pipe(); err != nil {
		return nil, errors.Join(fmt.Errorf("log: %w", err), file.Close())
	}
	return sink, nil
}

// started is called once the child holds its own copy of the writer.
func (s *logSink) started() {
	_ = s.writer.Close()
	if s.reader == nil {
		close(s.done)
		return
	}
	go s.copy()
}

// abandon undoes openLog for a child that could not be started.
func (s *logSink) abandon() {
	_ = s.writer.Close()
	if s.reader != nil {
		_ = s.reader.Close()
		_ = s.file.Close()
	}
}

// copy moves lines from the pipe to the file and the tee. A full disk must not
// block or kill the child, so write errors only end the writing.
func (s *logSink) copy() {
	defer close(s.done)
	defer s.file.Close()
	defer s.reader.Close()
	in := bufio.NewReaderSize(s.reader, maxLine)
	var out io.Writer = s.file
	for {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 {
			if _, werr := out.Write(line); werr != nil {
				out = io.Discard
			}
			s.onLine(string(bytes.TrimRight(line, "\r\n")))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// drain waits until everything that the dead child wrote has been copied.
func (s *logSink) drain() {
	if s.reader != nil {
		_ = s.reader.SetReadDeadline(time.Now().Add(drainTimeout))
	}
	<-s.done
}

// tail returns the last n lines of a file, looking no further back than from.
func tail(path string, from int64, n int) []string {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	start := max(from, info.Size()-tailBytes)
	data, err := io.ReadAll(io.NewSectionReader(file, start, info.Size()-start))
	if err != nil {
		return nil
	}
	text := strings.TrimRight(string(data), "\r\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	if start > from && len(lines) > 1 {
		lines = lines[1:] // the first one is probably cut
	}
	return lines[max(0, len(lines)-n):]
}
