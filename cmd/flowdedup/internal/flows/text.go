package flows

import (
	"bufio"
	"errors"
	"strings"

	"github.com/flowdedup/flowdedup/capture/records"
)

// Formats returns the names of the formats of inputs.
func Formats() []string { return []string{"auto"} }

// ParseMap reads pairs of a field and the name that text has for it.
func ParseMap(s string) (map[string]string, error) {
	m := map[string]string{}
	for pair := range strings.SplitSeq(s, ",") {
		field, name, ok := strings.Cut(pair, "=")
		if !ok || field == "" || name == "" {
			return nil, errors.New("must be pairs of a field and its name in the text: src=client,bytes=octets")
		}
		m[field] = name
	}
	return m, nil
}

// isText reports whether an input is text.
func isText(head []byte, format string) bool {
	for _, b := range head {
		if (b < ' ' || b > '~') && b != '\n' && b != '\r' && b != '\t' && b < 0x80 {
			return false
		}
	}
	return true
}

func (r *runner) openText(in *bufio.Reader, name string, input uint32) (records.Reader, error) {
	return nil, errors.New(name + ": text")
}
