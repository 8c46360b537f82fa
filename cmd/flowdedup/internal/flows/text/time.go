// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
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

// read reads the time of a target, and the unit of its last digit. It rejects times that no record
// has: see records.IsTime.
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

// order is the order of day and month in dates that end with the year.
type order uint8

const (
	unknownOrder order = iota
	dayFirst
	monthFirst
	contradictory // the text has both orders
)

// isDate reports whether a value has the form of a date; the date itself may be wrong. Numbers have
// one dot at most.
func isDate(v []byte) bool {
	_, n := eight(v)
	if n == 0 || n > 4 || n == len(v) {
		return false
	}
	return v[n] == '-' || v[n] == '/' || v[n] == '.' && n <= 2 && bytes.Count(v[:min(len(v), 6)], []byte(".")) == 2
}

// orderOf returns the order in a value, if it is a date that ends with the year. It returns
// none if day and month may be either.
func orderOf(v []byte) (o order, is bool) {
	c := cursor{p: v}
	first, second, _, yearFirst := c.date()
	switch {
	case c.bad || yearFirst || first == second:
		return unknownOrder, false
	case first > 12 && second <= 12:
		return dayFirst, true
	case second > 12 && first <= 12:
		return monthFirst, true
	}
	return unknownOrder, true
}

// date reads 2006-01-02T15:04:05.999Z, with the variants of its signs that programs write, and
// dates that end with the year. A time without a zone is UTC.
func (t *times) date(of target, v []byte) (ns int64, unit time.Duration, ok bool) {
	c := cursor{p: v}
	first, second, third, yearFirst := c.date()
	year, month, day := first, second, third
	if !yearFirst {
		year, month, day = third, first, second
		if t.order == dayFirst || first == second {
			month, day = second, first
		} else if t.order != monthFirst {
			return 0, 0, false
		}
	}
	hour, minute, sec, fraction, unit := c.clock()
	zone := c.zone()
	if c.bad || c.at < len(v) || hour > 23 || minute > 59 || sec > 60 || month < 1 || month > 12 || day < 1 {
		return 0, 0, false
	}
	at := time.Date(year, time.Month(month), day, hour, minute, sec, 0, time.UTC)
	seconds := at.Unix() - int64(zone)
	if at.Day() != day && sec < 60 || seconds < 0 || seconds > maxSeconds {
		return 0, 0, false
	}
	if sec < 60 {
		t.last[of].set(v, at.Unix()-int64(sec))
	}
	return seconds*int64(time.Second) + int64(fraction), unit, true
}

// minute is the common beginning of dates within a minute, such as 2006-01-02T15:04: with the last
// colon.
type minute struct {
	text    [17]byte
	seconds int64  // since 1970, without a zone
	zone    []byte // behind the last date
	offset  int    // the same in seconds
}

// set remembers the minute of a date in the usual form. Dates near each other often have the same.
func (m *minute) set(v []byte, seconds int64) {
	if len(v) < len(m.text) {
		return
	}
	for i, c := range v[:len(m.text)] {
		if sign := i == 4 || i == 7 || i == 10 || i == 13 || i == 16; isDigit(c) == sign {
			return
		}
	}
	m.seconds = seconds
	copy(m.text[:], v)
}

// read reads a date of the minute. It returns false for others, and for forms that only times.date
// reads.
func (m *minute) read(v []byte) (ns int64, unit time.Duration, ok bool) {
	if len(v) < 19 || v[16] != ':' || string(v[:17]) != string(m.text[:]) || v[17] < '0' || v[17] > '5' || !isDigit(v[18]) {
		return 0, 0, false
	}
	c, fraction, unit := cursor{p: v, at: 19}, uint64(0), time.Second
	if c.is('.') || c.is(',') {
		var places int
		fraction, places, c.at = billionths(v, c.at)
		unit = unitOf(places)
	}
	if c.at < len(v) && v[c.at] != 'Z' && v[c.at] != '+' && v[c.at] != '-' {
		return 0, 0, false
	}
	if zone := v[c.at:]; string(zone) != string(m.zone) {
		offset := c.zone()
		if c.bad || c.at < len(v) {
			return 0, 0, false
		}
		m.zone, m.offset = append(m.zone[:0], zone...), offset
	}
	seconds := m.seconds + int64(v[17]-'0')*10 + int64(v[18]-'0') - int64(m.offset)
	if seconds < 0 || seconds > maxSeconds {
		return 0, 0, false
	}
	return seconds*int64(time.Second) + int64(fraction), unit, true
}

// cursor reads a date from front to back.
type cursor struct {
	p   []byte
	at  int
	bad bool
}

// is takes a sign if it is there.
func (c *cursor) is(sign byte) bool {
	if c.at == len(c.p) || c.p[c.at] != sign {
		return false
	}
	c.at++
	return true
}

// digits reads from least to most digits.
func (c *cursor) digits(least, most int) (n int) {
	begin := c.at
	for ; c.at < len(c.p) && c.at-begin < most && isDigit(c.p[c.at]); c.at++ {
		n = n*10 + int(c.p[c.at]-'0')
	}
	c.bad = c.bad || c.at-begin < least
	return n
}

// date reads three numbers with the same sign between. The year has four digits, and is the
// first or the last.
func (c *cursor) date() (first, second, third int, yearFirst bool) {
	first = c.digits(1, 4)
	yearFirst = c.at == 4
	if c.bad || c.at == 3 || c.at == len(c.p) {
		c.bad = true
		return 0, 0, 0, false
	}
	sign := c.p[c.at]
	c.at++
	second = c.digits(1, 2)
	c.bad = c.bad || !c.is(sign) || sign != '-' && sign != '/' && sign != '.'
	if yearFirst {
		return first, second, c.digits(1, 2), true
	}
	return first, second, c.digits(4, 4), false
}

// clock reads the time of day behind a date, and the half of the day behind it.
func (c *cursor) clock() (hour, minute, second int, fraction uint64, unit time.Duration) {
	if c.at == len(c.p) || isDigit(c.p[c.at]) {
		c.bad = true // only a date
		return
	}
	c.at++
	c.space()
	hour = c.digits(1, 2)
	c.bad = c.bad || !c.is(':')
	minute, unit = c.digits(2, 2), time.Minute
	if c.is(':') {
		second, unit = c.digits(2, 2), time.Second
		if c.is('.') || c.is(',') {
			var places int
			fraction, places, c.at = billionths(c.p, c.at)
			unit = unitOf(places)
		}
	}
	c.space()
	return c.half(hour), minute, second, fraction, unit
}

func (c *cursor) space() {
	for c.is(' ') {
	}
}

// half takes AM or PM, and returns the hour of the day.
func (c *cursor) half(hour int) int {
	if len(c.p)-c.at < 2 || c.p[c.at+1]|0x20 != 'm' {
		return hour
	}
	half := c.p[c.at] | 0x20
	if half != 'a' && half != 'p' {
		return hour
	}
	c.at += 2
	c.space()
	c.bad = c.bad || hour < 1 || hour > 12
	if hour %= 12; half == 'p' {
		hour += 12
	}
	return hour
}

// zone reads Z, UTC, +hh, +hhmm or +hh:mm, in seconds.
func (c *cursor) zone() int {
	switch string(c.p[c.at:]) {
	case "", "Z", "z", "UTC", "GMT":
		c.at = len(c.p)
		return 0
	}
	sign := 1
	if c.is('-') {
		sign = -1
	} else if !c.is('+') {
		return 0 // the rest is no zone
	}
	hours, minutes := c.digits(2, 2), 0
	if c.is(':') || c.at < len(c.p) {
		minutes = c.digits(2, 2)
	}
	c.bad = c.bad || hours > 23 || minutes > 59
	return sign * (hours*3600 + minutes*60)
}
