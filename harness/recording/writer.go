package recording

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Writer appends facts to a recording. It is safe for concurrent use. After
// the first write error (a full disk, say) every call returns that error.
type Writer struct {
	mu     sync.Mutex
	zw     *zstd.Encoder
	hash   hash.Hash
	buf    bytes.Buffer
	facts  int64
	bytes  int64
	err    error
	closed bool
}

// ErrClosed is returned by writes after Close.
var ErrClosed = errors.New("recording is closed")

// NewWriter starts a recording with its header. The caller owns w and closes
// it after Close. Errors are those of w.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	zw, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("starting the recording: %w", err)
	}
	h.Format = Format
	rec := &Writer{zw: zw, hash: sha256.New()}
	if err := rec.append(struct {
		Header *Header `json:"header"`
	}{&h}); err != nil {
		return nil, fmt.Errorf("writing the recording's header: %w", err)
	}
	return rec, rec.Flush()
}

// Append writes one fact.
func (w *Writer) Append(f Fact) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		if w.err = w.append(f); w.err == nil {
			w.facts++
		}
	}
	return w.err
}

// Flush hands everything written so far to the underlying writer.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = w.zw.Flush()
	}
	return w.err
}

// Err is the first write error, nil while all is well.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(w.err, ErrClosed) {
		return nil
	}
	return w.err
}

// Facts is the number of facts written so far.
func (w *Writer) Facts() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.facts
}

// Close writes the trailer and ends the compressed stream. After an earlier
// write error no trailer is written and that error is returned, so a recording
// that lost facts can never look whole.
func (w *Writer) Close(endNS int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	w.closed = true
	if w.err != nil {
		_ = w.zw.Close()
		return w.err
	}
	trailer := Trailer{
		Facts: w.facts, Bytes: w.bytes, EndNS: endNS,
		Digest: "sha256:" + hex.EncodeToString(w.hash.Sum(nil)),
	}
	err := w.append(struct {
		Trailer Trailer `json:"trailer"`
	}{trailer})
	w.err = ErrClosed
	if cerr := w.zw.Close(); err == nil {
		err = cerr
	}
	return err
}

func (w *Writer) append(v any) error {
	w.buf.Reset()
	enc := json.NewEncoder(&w.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	w.hash.Write(w.buf.Bytes())
	w.bytes += int64(w.buf.Len())
	_, err := w.zw.Write(w.buf.Bytes())
	return err
}
