package cli

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/engine"
)

const day = 24 * time.Hour

var errDuration = errors.New("must be a duration such as 30s, 15m, 1h, 1d or 1d12h")

// parseDuration reads a duration as time.ParseDuration does, which may begin with whole
// days of 24 hours: 1d, 1d12h. All flags of durations are read by it.
func parseDuration(s string) (time.Duration, error) {
	days, rest, found := strings.Cut(s, "d")
	if !found {
		days, rest = "0", s
	}
	n, err := strconv.ParseUint(days, 10, 64)
	if err != nil || n > uint64(math.MaxInt64/day) {
		return 0, errDuration
	}
	if found && rest == "" {
		return time.Duration(n) * day, nil
	}
	d, err := time.ParseDuration(rest)
	sum := time.Duration(n)*day + d
	if err != nil || found && (strings.ContainsAny(rest[:1], "+-") || sum < d) {
		return 0, errDuration
	}
	return sum, nil
}

// parseEvery reads a duration that must be positive.
func parseEvery(s string) (time.Duration, error) {
	d, err := parseDuration(s)
	if err != nil || d <= 0 {
		return 0, errDuration
	}
	return d, nil
}

// parseDelay reads a duration that may be 0.
func parseDelay(s string) (time.Duration, error) {
	d, err := parseDuration(s)
	if err == nil && d < 0 {
		return 0, errors.New("must not be negative")
	}
	return d, err
}

// parseWindow reads a window, whose duration may have days.
func parseWindow(s string) (engine.Window, error) {
	if d, err := parseDuration(s); err == nil {
		s = d.String()
	}
	return engine.ParseWindow(s)
}
