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
	enc    *json.Encoder // into buf
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
	rec.enc = json.NewEncoder(&rec.buf)
	rec.enc.SetEscapeHTML(false)
	if err := rec.write(struct {
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
		if w.err = w.append(&f); w.err == nil {
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
	trailer := Trailer{Facts: w.facts, Bytes: w.bytes, EndNS: endNS}
	trailer.Digest = seal(w.hash, trailer)
	err := w.write(struct {
		Trailer Trailer `json:"trailer"`
	}{trailer})
	w.err = ErrClosed
	if cerr := w.zw.Close(); err == nil {
		err = cerr
	}
	return err
}

// seal completes the hash of the lines with what the trailer says, and returns
// the trailer's digest.
func seal(lines hash.Hash, t Trailer) string {
	fmt.Fprintf(lines, "%d facts, %d bytes, end %d", t.Facts, t.Bytes, t.EndNS)
	return "sha256:" + hex.EncodeToString(lines.Sum(nil))
}

// objectEnd ends the line of an object, after its body.
const objectEnd = "}}\n"

// append writes a fact. Bodies of objects are most of a recording. encoding/json
// would copy them byte by byte, so it writes the line with a null instead and
// the body takes the place of that, as it is.
func (w *Writer) append(f *Fact) error {
	if f.Object == nil || !writable(f.Object.Body) {
		return w.write(f)
	}
	light, o := *f, *f.Object
	o.Body, light.Object = nil, &o
	w.buf.Reset()
	if err := w.enc.Encode(&light); err != nil {
		return err
	}
	head, ok := bytes.CutSuffix(w.buf.Bytes(), []byte("null"+objectEnd))
	if !ok { // something follows the object
		return w.write(f)
	}
	w.buf.Truncate(len(head))
	w.buf.Write(f.Object.Body)
	w.buf.WriteString(objectEnd)
	return w.put()
}

// writable says whether a body can be written as it is: one line of JSON. The
// recorder cuts bodies out of what a server sent and leaves it to the writer to
// look whether that is JSON. One that is not would spoil the recording, which
// is better known now than when it is read.
func writable(body []byte) bool {
	return valid(body) && bytes.IndexByte(body, '\n') < 0
}

// write writes a value as a line.
func (w *Writer) write(v any) error {
	w.buf.Reset()
	if err := w.enc.Encode(v); err != nil {
		return err
	}
	return w.put()
}

// put hands the line in the buffer on.
func (w *Writer) put() error {
	w.hash.Write(w.buf.Bytes())
	w.bytes += int64(w.buf.Len())
	_, err := w.zw.Write(w.buf.Bytes())
	return err
}
