package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/flowdedup/flowdedup/layout"
)

// parsed is a flag value that is checked while the command line is read, so
// that a wrong one is a usage error.
type parsed[T any] struct {
	value *T
	parse func(string) (T, error)
	text  string
	kind  string
}

func newParsed[T any](value *T, text, kind string, parse func(string) (T, error)) *parsed[T] {
	return &parsed[T]{value: value, parse: parse, text: text, kind: kind}
}

// Set implements pflag.Value.
func (p *parsed[T]) Set(s string) error {
	v, err := p.parse(s)
	if err != nil {
		return err
	}
	*p.value, p.text = v, s
	return nil
}

// String implements pflag.Value.
func (p *parsed[T]) String() string { return p.text }

// Type implements pflag.Value: the name of the value in help texts.
func (p *parsed[T]) Type() string { return p.kind }

// oneOf accepts a word of a list.
func oneOf(words ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		if slices.Contains(words, s) {
			return s, nil
		}
		return "", fmt.Errorf("must be one of %s", strings.Join(words, ", "))
	}
}

// parseMemory reads "8MiB", "64M", "65536" or a cache level.
func parseMemory(s string) (int, error) {
	if n, ok := layout.Budget(strings.ToLower(s)); ok {
		return n, nil
	}
	n, err := humanize.ParseBytes(s)
	if err != nil {
		return 0, fmt.Errorf("must be a size such as 8MiB or 512KiB, or l1, l2, l3")
	}
	const most = 1 << 46 // more than any machine maps
	if n < layout.LineSize || n > most {
		return 0, fmt.Errorf("must be at least %d bytes and below 64 TiB", layout.LineSize)
	}
	return int(n), nil
}

// parseFPR reads a probability between 0 and 1.
func parseFPR(s string) (float64, error) {
	p, err := strconv.ParseFloat(s, 64)
	if err != nil || !(p > 0 && p < 1) {
		return 0, fmt.Errorf("must be a probability between 0 and 1, such as 1e-9")
	}
	return p, nil
}
