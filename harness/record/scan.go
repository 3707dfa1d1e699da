package record

import (
	"bytes"
	"encoding/json"
	"errors"
)

// errJSON is returned for text that is not what an API server sends.
var errJSON = errors.New("malformed JSON")

// items walks the members of a JSON object or the elements of an array, one
// level deep, without decoding them. It finds bounds and does not validate;
// the recording's encoder does that.
type items struct {
	text        []byte
	at          int
	open        byte
	first, done bool
	// key is the member's key, unescaped; rawKey has its quotes.
	key, rawKey []byte
	value       []byte
	err         error
}

// walk begins at an object or array; anything else has no items.
func walk(text []byte) items {
	at := skipSpace(text, 0)
	if at == len(text) || text[at] != '{' && text[at] != '[' {
		return items{err: errJSON}
	}
	return items{text: text, at: at + 1, open: text[at], first: true}
}

// next moves to the next item. It returns false at the end and on malformed
// text, which sets err.
func (it *items) next() bool {
	if it.done || it.err != nil {
		return false
	}
	it.err = it.step()
	return !it.done && it.err == nil
}

func (it *items) step() error {
	at := skipSpace(it.text, it.at)
	if at == len(it.text) {
		return errJSON
	}
	switch c := it.text[at]; {
	case c == it.open+2: // '{'+2 is '}' and '['+2 is ']'
		it.done = true
		return nil
	case it.first:
		it.first = false
	case c == ',':
		at = skipSpace(it.text, at+1)
	default:
		return errJSON
	}
	if it.open == '{' {
		var err error
		if at, err = it.member(at); err != nil {
			return err
		}
	}
	end, err := endOfValue(it.text, at)
	if err != nil {
		return err
	}
	it.value, it.at = it.text[at:end], end
	return nil
}

// member reads `"key":` and returns the index of the value.
func (it *items) member(at int) (int, error) {
	if at == len(it.text) || it.text[at] != '"' {
		return 0, errJSON
	}
	end, err := endOfString(it.text, at)
	if err != nil {
		return 0, err
	}
	it.rawKey = it.text[at:end]
	if it.key, err = unquote(it.rawKey); err != nil {
		return 0, err
	}
	at = skipSpace(it.text, end)
	if at == len(it.text) || it.text[at] != ':' {
		return 0, errJSON
	}
	return skipSpace(it.text, at+1), nil
}

func skipSpace(text []byte, at int) int {
	for at < len(text) {
		switch text[at] {
		case ' ', '\n', '\r', '\t':
			at++
		default:
			return at
		}
	}
	return at
}

// endOfString returns the index after the string that begins at text[at].
func endOfString(text []byte, at int) (int, error) {
	for at++; ; at++ {
		quote := bytes.IndexByte(text[at:], '"')
		if quote < 0 {
			return 0, errJSON
		}
		at += quote
		escapes := 0
		for text[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at + 1, nil
		}
	}
}

// endOfValue returns the index after the value that begins at text[at].
func endOfValue(text []byte, at int) (int, error) {
	if at == len(text) {
		return 0, errJSON
	}
	switch text[at] {
	case '"':
		return endOfString(text, at)
	case '{', '[':
		return endOfNested(text, at)
	}
	start := at
	for at < len(text) {
		switch text[at] {
		case ',', '}', ']', ' ', '\n', '\r', '\t':
			if at == start {
				return 0, errJSON
			}
			return at, nil
		}
		at++
	}
	return at, nil
}

func endOfNested(text []byte, at int) (int, error) {
	depth := 0
	for at < len(text) {
		switch text[at] {
		case '"':
			end, err := endOfString(text, at)
			if err != nil {
				return 0, err
			}
			at = end
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1, nil
			}
		}
		at++
	}
	return 0, errJSON
}

// unquote returns the text of a JSON string, in place when it has no escapes.
func unquote(quoted []byte) ([]byte, error) {
	if len(quoted) < 2 || quoted[0] != '"' {
		return nil, errJSON
	}
	inner := quoted[1 : len(quoted)-1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner, nil
	}
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		return nil, errJSON
	}
	return []byte(s), nil
}
