// SPDX-License-Identifier: Apache-2.0

package text

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/itchyny/timefmt-go"

	"github.com/flowdedup/flowdedup/capture/records"
)

// TimeLayout is how times are written, as strptime has it: %d/%m/%Y %H:%M:%S. The zero
// value finds out.
type TimeLayout struct {
	layout string
	unit   time.Duration // of its last place
}

// ErrTimeLayout is wrapped by errors about the form of a layout.
var ErrTimeLayout = errors.New("not a layout of times")

// ParseTimeLayout reads a layout. It must say day and time of day. Errors wrap
// ErrTimeLayout.
func ParseTimeLayout(s string) (TimeLayout, error) {
	at := time.Date(2021, 11, 23, 22, 43, 0, 0, time.UTC)
	back, err := timefmt.Parse(timefmt.Format(at, s), s)
	switch {
	case err != nil:
		return TimeLayout{}, fmt.Errorf("%w: %q: %w", ErrTimeLayout, s, err)
	case !back.Equal(at):
		return TimeLayout{}, fmt.Errorf("%w: %q does not say year, month, day, hour and minute, as %%Y-%%m-%%d %%H:%%M:%%S does", ErrTimeLayout, s)
	}
	l := TimeLayout{layout: s, unit: time.Minute}
	second := at.Add(7 * time.Second)
	if back, err := timefmt.Parse(timefmt.Format(second, s), s); err == nil && back.Equal(second) {
		l.unit = time.Second
	}
	if strings.Contains(s, "%f") {
		l.unit = time.Microsecond
	}
	return l, nil
}

// read reads a time as the layout says.
func (l *TimeLayout) read(v []byte) (ns int64, unit time.Duration, ok bool) {
	t, err := timefmt.Parse(str(v), l.layout)
	if err != nil || t.Unix() < 0 || t.Unix() > maxSeconds {
		return 0, 0, false
	}
	return t.UnixNano(), l.unit, true
}

// maxSeconds are the most seconds since 1970 that nanoseconds have room for.
const maxSeconds = math.MaxInt64/int64(time.Second) - 1

// times reads times: a date, or a number since 1970 in seconds, milliseconds, microseconds
// or nanoseconds, which differ in size until the year 2255.
type times struct {
	layout TimeLayout
	order  order        // of dates that do not begin with the year
	last   [kind]minute // by target
}

// read reads the time of a target, unless it cannot be one of a record. It returns the unit of its
// last digit.
func (t *times) read(of target, v []byte) (ns int64, unit time.Duration, ok bool) {
	if ns, unit, ok = t.parse(of, v); !ok || !records.IsTime(ns) {
		return 0, unit, false
	}
	return ns, unit, true
}

// parse reads a time of any year from 1970 on.
func (t *times) parse(of target, v []byte) (ns int64, unit time.Duration, ok bool) {
	if t.layout.layout != "" {
		return t.layout.read(v)
	}
	if ns, unit, ok = t.last[of].read(v); ok {
		return ns, unit, ok
	}
	if isDate(v) {
		return t.date(of, v)
	}
	whole, fraction, digits, ok := decimal(v)
	switch {
	case !ok || whole > math.MaxInt64:
		return 0, 0, false
	case whole < 9e9:
		return int64(whole)*1e9 + int64(fraction), unitOf(digits), true
	case whole < 9e12:
		return int64(whole)*1e6 + int64(fraction/1e3), time.Millisecond, true
	case whole < 9e15:
		return int64(whole) * 1e3, time.Microsecond, true
	}
	return int64(whole), time.Nanosecond, true
}

// unitOf returns the unit that has this many digits after the seconds.
func unitOf(digits int) time.Duration {
	switch {
	case digits == 0:
		return time.Second
	case digits <= 3:
		return time.Millisecond
	case digits <= 6:
		return time.Microsecond
	}
	return time.Nanosecond
}
