package recording

import "bytes"

// maxDepth is encoding/json's limit of nesting.
const maxDepth = 10000

// valid says what json.Valid says, several times as fast: json.Valid makes a
// call for every byte, and it would be half of what a recording costs to write
// and to read.
func valid(text []byte) bool {
	s := scanner{text: text}
	return s.value(0) && s.space() == 0 && s.at == len(text)
}

// scanner is a place in a JSON text.
type scanner struct {
	text []byte
	at   int
}

// space skips white space and returns the byte that follows, 0 at the end.
func (s *scanner) space() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// value skips a value with the space before it. It returns false if there is none.
func (s *scanner) value(depth int) bool {
	switch c := s.space(); c {
	case '{', '[':
		s.at++
		return depth < maxDepth && s.items(c, depth+1)
	case '"':
		return s.string()
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	return s.number()
}

// items skips what follows the opening bracket of an object or array.
func (s *scanner) items(open byte, depth int) bool {
	end := open + 2 // '{'+2 is '}' and '['+2 is ']'
	if s.space() == end {
		s.at++
		return true
	}
	for {
		if open == '{' {
			if s.space() != '"' || !s.string() || s.space() != ':' {
				return false
			}
			s.at++
		}
		if !s.value(depth) {
			return false
		}
		switch s.space() {
		case ',':
			s.at++
		case end:
			s.at++
			return true
		default:
			return false
		}
	}
}

func (s *scanner) string() bool {
	for at := s.at + 1; at < len(s.text); at++ {
		switch c := s.text[at]; {
		case c == '"':
			s.at = at + 1
			return true
		case c == '\\':
			s.at = at
			if !s.escape() {
				return false
			}
			at = s.at
		case c < ' ':
			return false
		}
	}
	return false
}

// escape moves from a backslash to the last byte of the escape.
func (s *scanner) escape() bool {
	s.at++
	if s.at == len(s.text) {
		return false
	}
	if s.text[s.at] != 'u' {
		return bytes.IndexByte([]byte(`"\/bfnrt`), s.text[s.at]) >= 0
	}
	for range 4 {
		s.at++
		if s.at == len(s.text) || bytes.IndexByte([]byte("0123456789abcdefABCDEF"), s.text[s.at]) < 0 {
			return false
		}
	}
	return true
}

func (s *scanner) word(w string) bool {
	ok := bytes.HasPrefix(s.text[s.at:], []byte(w))
	s.at += len(w)
	return ok
}

func (s *scanner) number() bool {
	s.one("-")
	if !s.one("0") && !s.digits() {
		return false
	}
	if s.one(".") && !s.digits() {
		return false
	}
	if s.one("eE") {
		s.one("+-")
		return s.digits()
	}
	return true
}

// one skips a byte of the set, if the next is one.
func (s *scanner) one(set string) bool {
	if s.at < len(s.text) && bytes.IndexByte([]byte(set), s.text[s.at]) >= 0 {
		s.at++
		return true
	}
	return false
}

func (s *scanner) digits() bool {
	begin := s.at
	for s.at < len(s.text) && '0' <= s.text[s.at] && s.text[s.at] <= '9' {
		s.at++
	}
	return s.at > begin
}
