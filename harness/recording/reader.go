package recording

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
)

// Errors of a recording that must not be judged.
var (
	ErrFormat = errors.New("not a recording of format " + Format)
	// ErrCut: no trailer, so the file ends before the recorder did.
	ErrCut = errors.New("the recording was cut: it has no trailer")
	// ErrEdited: the trailer's counts or digest do not fit the lines.
	ErrEdited = errors.New("the recording was edited: its digest does not match")
)

// maxLine bounds one line; an API object is at most 1.5 MiB in etcd.
const maxLine = 16 << 20

// Reader reads a recording fact by fact, in memory bounded by one line.
type Reader struct {
	Header  Header
	trailer *Trailer

	zr    *zstd.Decoder
	lines *bufio.Reader
	long  []byte
	hash  hash.Hash
	facts int64
	bytes int64
}

// NewReader reads the header. It returns ErrFormat for anything that is not a
// recording of this format. Close releases the decompressor.
func NewReader(r io.Reader) (*Reader, error) {
	zr, err := zstd.NewReader(r, zstd.WithDecoderMaxMemory(256<<20), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrFormat, err)
	}
	rd := &Reader{zr: zr, lines: bufio.NewReaderSize(zr, 256<<10), hash: sha256.New()}
	text, err := rd.next()
	if err != nil {
		zr.Close()
		return nil, fmt.Errorf("%w: %v", ErrFormat, err)
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil || l.Header == nil || l.Header.Format != Format {
		zr.Close()
		return nil, ErrFormat
	}
	rd.account(text)
	rd.Header = *l.Header
	return rd, nil
}

// Close releases the decompressor. It does not close the underlying reader.
func (r *Reader) Close() { r.zr.Close() }

// Next returns the next fact. At the end it returns io.EOF, but only after the
// trailer was checked: a recording that was cut ends in ErrCut, one that was
// changed in ErrEdited.
func (r *Reader) Next() (Fact, error) {
	text, err := r.next()
	switch {
	case errors.Is(err, io.EOF):
		return Fact{}, ErrCut
	case err != nil:
		return Fact{}, fmt.Errorf("%w: after %d facts: %v", ErrCut, r.facts, err)
	}
	var l line
	if !r.object(text, &l) {
		l = line{}
		if err := json.Unmarshal(text, &l); err != nil {
			return Fact{}, fmt.Errorf("%w: fact %d: %v", ErrEdited, r.facts+1, err)
		}
	}
	if l.Trailer != nil {
		return Fact{}, r.end(*l.Trailer)
	}
	r.account(text)
	r.facts++
	return l.Fact, nil
}

// Trailer returns the trailer once Next has returned io.EOF, nil before.
func (r *Reader) Trailer() *Trailer { return r.trailer }

func (r *Reader) end(t Trailer) error {
	want := Trailer{Facts: r.facts, Bytes: r.bytes, EndNS: t.EndNS}
	want.Digest = seal(r.hash, want)
	if t != want {
		return fmt.Errorf("%w (%d of %d facts read)", ErrEdited, r.facts, t.Facts)
	}
	if _, err := r.lines.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: something follows the trailer", ErrEdited)
	}
	r.trailer = &t
	return io.EOF
}

// object reads the line of an object as the writer writes it, body last. It
// returns false for any other line. Bodies are most of a recording: here they
// are scanned once, where encoding/json scans them three times.
func (r *Reader) object(text []byte, l *line) bool {
	head, body, ok := bytes.Cut(text, []byte(`,"body":`))
	if !ok {
		return false
	}
	if body, ok = bytes.CutSuffix(body, []byte(objectEnd)); !ok || !valid(body) {
		return false
	}
	h := cursor{rest: head}
	var o Object
	l.T = int64(h.number(`{"t":`))
	o.Change = Change(h.text(`,"object":{"change":"`))
	o.Resource = h.text(`,"resource":"`)
	if bytes.HasPrefix(h.rest, []byte(`,"namespace"`)) {
		o.Namespace = h.text(`,"namespace":"`)
	}
	o.Name = h.text(`,"name":"`)
	o.RV = h.number(`,"rv":`)
	o.Body = bytes.Clone(bytes.TrimSpace(body))
	l.Object = &o
	return !h.failed && len(h.rest) == 0
}

// cursor reads text of a known form. What is not of the form makes it fail.
type cursor struct {
	rest   []byte
	failed bool
}

func (c *cursor) skip(form string) {
	rest, ok := bytes.CutPrefix(c.rest, []byte(form))
	c.rest, c.failed = rest, c.failed || !ok
}

// text reads a string that is written as it is meant, after a form that ends
// with its quote.
func (c *cursor) text(form string) string {
	c.skip(form)
	for i, b := range c.rest {
		switch {
		case b == '"':
			text := string(c.rest[:i])
			c.rest = c.rest[i+1:]
			return text
		case b < ' ' || b == '\\' || b >= utf8.RuneSelf:
			c.failed = true
			return ""
		}
	}
	c.failed = true
	return ""
}

// number reads a natural number after a form.
func (c *cursor) number(form string) uint64 {
	c.skip(form)
	end := 0
	for end < len(c.rest) && '0' <= c.rest[end] && c.rest[end] <= '9' {
		end++
	}
	n, err := strconv.ParseUint(string(c.rest[:end]), 10, 63)
	c.failed = c.failed || err != nil || end > 1 && c.rest[0] == '0'
	c.rest = c.rest[end:]
	return n
}

func (r *Reader) account(text []byte) {
	r.hash.Write(text)
	r.bytes += int64(len(text))
}

// next returns one line with its newline; the bytes are valid until the next call.
func (r *Reader) next() ([]byte, error) {
	text, err := r.lines.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		if err != nil && len(text) > 0 {
			return nil, io.ErrUnexpectedEOF
		}
		return text, err
	}
	r.long = append(r.long[:0], text...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(r.long) > maxLine {
			return nil, fmt.Errorf("a line is longer than %d bytes", maxLine)
		}
		text, err = r.lines.ReadSlice('\n')
		r.long = append(r.long, text...)
	}
	if err != nil || !bytes.HasSuffix(r.long, []byte("\n")) {
		return nil, io.ErrUnexpectedEOF
	}
	return r.long, nil
}
