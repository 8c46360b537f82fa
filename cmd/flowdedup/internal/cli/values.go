// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/engine/window"
	"github.com/flowdedup/flowdedup/layout"
)

// parsed is a flag value that is checked while the command line is parsed, so that a
// wrong value is a usage error.
type parsed[T any] struct {
	value *T
	parse func(string) (T, error)
	text  string
	kind  string
	list  bool // each use of the flag adds words, with a comma between
	adds  bool // parse adds to the value
	given bool
	uses  []string // values as given, of a flag that may be repeated
}

// NewParsed returns a value of a flag. text is its default, which parse reads and help shows, kind its
// name in help. A text that parse does not read, such as "", leaves the value as it is.
func NewParsed[T any](value *T, text, kind string, parse func(string) (T, error)) *parsed[T] {
	if v, err := parse(text); err == nil && text != "" {
		*value = v
	}
	return NewShown(value, text, kind, parse)
}

// NewShown is NewParsed for a default that help shows, and that the value does not get: the command
// distinguishes it from the same value on the command line.
func NewShown[T any](value *T, text, kind string, parse func(string) (T, error)) *parsed[T] {
	return &parsed[T]{value: value, parse: parse, text: text, kind: kind}
}

// NewList is NewParsed for words with commas between them, to which each use of the flag
// adds.
func NewList[T any](value *T, text, kind string, parse func(string) (T, error)) *parsed[T] {
	return &parsed[T]{value: value, parse: parse, text: text, kind: kind, list: true}
}

// NewAdding is NewParsed for a flag that may be repeated: parse returns the value so far, with what
// it read added.
func NewAdding[T any](value *T, kind string, parse func(string) (T, error)) *parsed[T] {
	return &parsed[T]{value: value, kind: kind, adds: true, parse: parse}
}

// Set implements pflag.Value.
func (p *parsed[T]) Set(s string) error {
	if p.list && p.given {
		s = p.text + "," + s
	}
	v, err := p.parse(s)
	if err != nil {
		return err
	}
	*p.value, p.text, p.given = v, s, true
	if p.adds {
		p.uses = append(p.uses, s)
	}
	return nil
}

// Adds reports whether each use of the flag adds a value: see package once.
func (p *parsed[T]) Adds() bool { return p.list || p.adds }

func (p *parsed[T]) isList() bool { return p.list }

func (p *parsed[T]) allUses() []string { return p.uses }

// String implements pflag.Value.
func (p *parsed[T]) String() string { return p.text }

// Type implements pflag.Value: the name of the value in help texts.
func (p *parsed[T]) Type() string { return p.kind }

// OneOf accepts a word of a list.
func OneOf(words ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		if slices.Contains(words, s) {
			return s, nil
		}
		return "", fmt.Errorf("must be one of %s", strings.Join(words, ", "))
	}
}

// ParseWords reads words of a list, separated by commas, each at most once.
func ParseWords(words []string) func(string) ([]string, error) {
	one := OneOfNear(words)
	return func(s string) (found []string, err error) {
		for word := range strings.SplitSeq(s, ",") {
			if word, err = one(strings.TrimSpace(word)); err != nil {
				return nil, err
			}
			if slices.Contains(found, word) {
				return nil, fmt.Errorf("%s is named twice", word)
			}
			found = append(found, word)
		}
		return found, nil
	}
}

// ParseMemory reads "8MiB", "64M", "65536" or a cache level.
func ParseMemory(s string) (int, error) {
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
	if n > math.MaxInt {
		return 0, fmt.Errorf("must be below %s, the limit of a program of %d bits", show.Bytes(math.MaxInt), bits.UintSize)
	}
	return int(n), nil
}

// NoticeAssumed says which flags are the size of a cache that is only assumed.
func NoticeAssumed(e *Env, fs *pflag.FlagSet, assumed func(level string) bool) {
	fs.Visit(func(f *pflag.Flag) {
		if level := strings.ToLower(f.Value.String()); f.Value.Type() == "size" && assumed(level) {
			n, _ := layout.Budget(level)
			e.Notice(fmt.Sprintf("--%s %s: this system does not say the size of that cache; %s is assumed", f.Name, level, show.Bytes(n)))
		}
	})
}

// ParseFPR reads a probability between 0 and 1.
func ParseFPR(s string) (float64, error) {
	p, err := ParseShare(s)
	if err != nil || p >= 1 {
		return 0, fmt.Errorf("must be a probability between 0 and 1, such as 1e-9 or 0.1%%")
	}
	return p, nil
}

// ParseShare reads a share of a whole, above 0 and at most 1: 0.6 or 60%.
func ParseShare(s string) (float64, error) {
	digits, percent := strings.CutSuffix(s, "%")
	p, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if percent {
		p /= 100
	}
	if err != nil || !(p > 0 && p <= 1) {
		return 0, fmt.Errorf("must be a share above 0 and at most 1, such as 0.6 or 60%%")
	}
	return p, nil
}

// maxAmount bounds numbers and rates: above it floating point cannot count by one.
const maxAmount = 1 << 53

// ParseAmount reads a positive number with an optional k, M, G or T for powers of a
// thousand: 1.5M.
func ParseAmount(s string) (float64, error) {
	digits, factor := s, 1.0
	for unit, value := range map[string]float64{"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12} {
		if rest, found := strings.CutSuffix(s, unit); found {
			digits, factor = rest, value
		}
	}
	n, err := strconv.ParseFloat(digits, 64)
	if n *= factor; err != nil || !(n > 0 && n <= maxAmount) {
		return 0, fmt.Errorf("must be a positive number such as 250000, 1.5M or 2G, up to 2^53")
	}
	return n, nil
}

// maxWorkers bounds the memory of batches in flight, 2 MiB per worker. A single goroutine
// reads, which cannot keep this many workers busy.
const maxWorkers = 16

func parseWorkers(s string) (int, error) {
	n, err := strconv.Atoi(s)
	switch {
	case err != nil || n < 0 || n > maxWorkers:
		return 0, fmt.Errorf("must be a number from 0 to %d", maxWorkers)
	case n == 0:
		return min(runtime.GOMAXPROCS(0), maxWorkers), nil
	}
	return n, nil
}

const day = 24 * time.Hour

var (
	errDuration = errors.New("must be a duration such as 30s, 15m, 1h, 1d or 1d12h")
	errTooLong  = errors.New("must be at most 106751d, or 292 years")
)

// parseDuration reads a duration as time.ParseDuration does, optionally with whole days
// of 24 hours in front: 1d, 1d12h. All flags of durations use it.
func parseDuration(s string) (time.Duration, error) {
	days, rest, found := strings.Cut(s, "d")
	if !found {
		days, rest = "0", s
	}
	n, err := strconv.ParseUint(days, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || n > uint64(math.MaxInt64/day):
		return 0, errTooLong
	case err != nil:
		return 0, errDuration
	case found && rest == "":
		return time.Duration(n) * day, nil
	}
	d, err := time.ParseDuration(rest)
	sum := time.Duration(n)*day + d
	switch {
	case err != nil && !isLong(rest) || found && strings.ContainsAny(rest[:1], "+-"):
		return 0, errDuration
	case err != nil || found && sum < d:
		return 0, errTooLong
	}
	return sum, nil
}

// isLong reports whether time.ParseDuration refuses a text only because its numbers are too
// large.
func isLong(s string) bool {
	_, err := time.ParseDuration(regexp.MustCompile("[0-9]+").ReplaceAllString(s, "1"))
	return err == nil
}

// positive reads a positive duration. Its errors are errTooLong and otherwise.
func positive(s string, otherwise error) (time.Duration, error) {
	switch d, err := parseDuration(s); {
	case errors.Is(err, errTooLong):
		return 0, err
	case err != nil || d <= 0:
		return 0, otherwise
	default:
		return d, nil
	}
}

// ParseEvery reads a positive duration.
func ParseEvery(s string) (time.Duration, error) {
	return positive(s, errDuration)
}

// ParseLength reads a duration that is not 0.
func ParseLength(s string) (time.Duration, error) {
	return positive(s, errors.New("must be a duration such as 100ms, 30s or 10m"))
}

// ParseDelay reads a duration that is not negative.
func ParseDelay(s string) (time.Duration, error) {
	d, err := parseDuration(s)
	if err == nil && d < 0 {
		return 0, errors.New("must not be negative")
	}
	return d, err
}

// ParseWindow reads a window. Its duration may have days.
func ParseWindow(s string) (window.Window, error) {
	const landmark = "landmark:"
	length, isLandmark := strings.CutPrefix(s, landmark)
	switch d, err := parseDuration(length); {
	case errors.Is(err, errTooLong):
		return window.Window{}, err
	case err == nil && isLandmark:
		s = landmark + d.String()
	case err == nil:
		s = d.String()
	}
	return window.Parse(s)
}
