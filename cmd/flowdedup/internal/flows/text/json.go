// SPDX-License-Identifier: Apache-2.0

package text

// object reads objects of JSON.
type object struct {
	p    []byte
	at   int
	path []byte // of the names around
	// take gets each value that is no object: without quotes if it is a string. Values of
	// an array come under its name.
	take func(path, value []byte)
	// learn gets the place of each value; nil if the shape is not learned.
	learn *shapes
}

// maxDepth is how many objects may lie in each other.
const maxDepth = 32

// read reads p, and reports whether it is an object and nothing else.
func (o *object) read(p []byte) bool {
	o.p, o.at, o.path = p, 0, o.path[:0]
	o.space()
	if !o.object(0) {
		return false
	}
	o.space()
	return o.at == len(o.p)
}

func (o *object) space() {
	for o.at < len(o.p) {
		switch o.p[o.at] {
		case ' ', '\t', '\n', '\r':
			o.at++
		default:
			return
		}
	}
}

// next reads a sign behind space.
func (o *object) next(c byte) bool {
	o.space()
	if o.at < len(o.p) && o.p[o.at] == c {
		o.at++
		return true
	}
	return false
}

func (o *object) object(depth int) bool {
	if depth > maxDepth || !o.next('{') {
		return false
	}
	if o.next('}') {
		return true
	}
	for {
		o.space()
		name, ok := o.text()
		if !ok || !o.next(':') {
			return false
		}
		around := len(o.path)
		if around > 0 {
			o.path = append(o.path, '.')
		}
		o.path = append(o.path, name...)
		if !o.value(depth) {
			return false
		}
		o.path = o.path[:around]
		if !o.next(',') {
			return o.next('}')
		}
	}
}

func (o *object) array(depth int) bool {
	if depth > maxDepth || !o.next('[') {
		return false
	}
	if o.next(']') {
		return true
	}
	for {
		if !o.value(depth) {
			return false
		}
		if !o.next(',') {
			return o.next(']')
		}
	}
}

func (o *object) value(depth int) bool {
	o.space()
	if o.at == len(o.p) {
		return false
	}
	switch o.p[o.at] {
	case '{':
		return o.object(depth + 1)
	case '[':
		return o.array(depth + 1)
	case '"':
		begin := o.at + 1
		v, ok := o.text()
		if !ok {
			return false
		}
		if o.learn != nil {
			o.learn.slot(begin, o.at-1, o.path, true)
		}
		o.take(o.path, v)
		return true
	}
	begin := o.at
	for o.at < len(o.p) && isWord(o.p[o.at]) {
		o.at++
	}
	v := o.p[begin:o.at]
	if len(v) == 0 || !isNumber(v[0]) && !isName(v) {
		return false
	}
	if o.learn != nil {
		o.learn.slot(begin, o.at, o.path, false)
	}
	if isNumber(v[0]) {
		o.take(o.path, v)
	}
	return true
}

// isWord reports whether numbers and names may have a sign.
func isWord(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c == 'E' || c == '+' || c == '-' || c == '.'
}

// text reads a string, whose escapes stay: no name and no value that matters has any.
func (o *object) text() ([]byte, bool) {
	if o.at == len(o.p) || o.p[o.at] != '"' {
		return nil, false
	}
	for i := o.at + 1; i < len(o.p); i++ {
		switch o.p[i] {
		case '\\':
			i++
		case '"':
			v := o.p[o.at+1 : i]
			o.at = i + 1
			return v, true
		}
	}
	return nil, false
}

// scan looks for the end of an object in its bytes so far.
type scan struct {
	at              int // where it goes on
	depth           int
	quoted, escaped bool
}

// end returns the end of the object that begins p, 0 if that is not there yet. Then it goes
// on where p ended.
func (s *scan) end(p []byte) int {
	for ; s.at < len(p); s.at++ {
		switch c := p[s.at]; {
		case s.escaped:
			s.escaped = false
		case s.quoted && c == '\\':
			s.escaped = true
		case c == '"':
			s.quoted = !s.quoted
		case s.quoted:
		case c == '{' || c == '[':
			s.depth++
		case c == '}' || c == ']':
			if s.depth--; s.depth <= 0 {
				n := s.at + 1
				*s = scan{}
				return n
			}
		}
	}
	return 0
}

// jsonRecord reads a record, and reports whether it is an object.
func (r *Reader) jsonRecord(p []byte) (sound bool) {
	s := &r.shapes
	if !r.array {
		s.match(p)
	}
	length := s.length
	if s.length = 0; length == len(p) {
		for _, f := range s.found {
			if v := p[f.begin:f.end]; len(v) != 0 && r.odd[v[0]] {
				r.enter(f.target, v)
			} else if len(v) != 0 && !r.set(f.target, v) {
				r.cannot(f.target, v)
			}
		}
		return true
	}
	r.object.learn = s.learn(p)
	if sound = r.object.read(p); sound && r.object.learn != nil {
		s.keep(p)
	}
	r.object.learn = nil
	return sound
}
