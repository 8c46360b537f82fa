// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"github.com/flowdedup/flowdedup/capture"
)

// Word returns the word that goes with a number: one for 1, else many.
func Word[N int | int64 | uint64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Some returns a number as Count does, and the word that goes with it. Without many the plural is
// the singular with an s.
func Some(n uint64, one string, many ...string) string {
	return Count(n) + " " + Word(n, one, append(many, one+"s")[0])
}

// Count formats a number with separated thousands: 1,234,567.
func Count(n uint64) string {
	if n < 1000 {
		return strconv.Itoa(int(n))
	}
	return humanize.Comma(int64(min(n, math.MaxInt64)))
}

// Short formats a number with three digits, in thousands if it is large: 1.23M.
func Short(n float64) string {
	if n < 10000 {
		return fmt.Sprintf("%.4g", n)
	}
	value, unit := humanize.ComputeSI(n)
	return fmt.Sprintf("%.3g%s", value, unit)
}

// Bytes formats a size: 512 B, 1.5 MiB. A negative size counts as 0.
func Bytes[N int | int64 | uint64 | float64](n N) string { return humanize.IBytes(uint64(max(0, n))) }

// FlagBytes formats a size as flags accept it: whole KiB or MiB, rounded up. Below 10 MiB,
// where a MiB more would be a tenth or more, it is KiB unless it is whole MiB.
func FlagBytes(n int) string {
	if n >= 10<<20 || n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%dMiB", (n+1<<20-1)>>20)
	}
	return fmt.Sprintf("%dKiB", (n+1<<10-1)>>10)
}

// Percent formats part/whole with the given number of decimals: 12.5 %. If whole is 0 the
// share is 0.
func Percent(part, whole float64, digits int) string {
	share := 0.0
	if whole > 0 {
		share = 100 * part / whole
	}
	return fmt.Sprintf("%.*f %%", digits, share)
}

// Share formats part/whole with two digits: 12.50 %.
func Share(part, whole uint64) string { return Percent(float64(part), float64(whole), 2) }

// Rate formats a probability, as a percentage unless it is very small.
func Rate(p float64) string {
	switch {
	case p == 0:
		return "0"
	case p < 1e-4:
		return fmt.Sprintf("%.1e", p)
	}
	return fmt.Sprintf("%.3g %%", p*100)
}

// Rounded rounds a probability to six significant digits, in which CPUs agree: their exponentials and
// fused multiplications differ in the last bits.
func Rounded(p float64) float64 {
	p, _ = strconv.ParseFloat(strconv.FormatFloat(p, 'g', 6, 64), 64)
	return p
}

// PerSecond formats a rate, with a prefix of the unit if it is large: 1.23 Mbit/s.
func PerSecond(v float64, unit string) string {
	if v < 10 {
		v = math.Round(10*v) / 10
	} else {
		v = math.Round(v)
	}
	if v < 1000 { // a prefix would be milli where it is below 1
		return strings.TrimSpace(strconv.FormatFloat(v, 'f', -1, 64)+" "+unit) + "/s"
	}
	return humanize.SIWithDigits(v, 2, unit) + "/s"
}

// Duration formats a duration without units that are zero: 1h, 2m30s.
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Delay formats nanoseconds with three digits: 12.3µs.
func Delay(ns int64) string {
	d := time.Duration(ns)
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}

// Timestamp formats a packet time, in nanoseconds since 1970 UTC, as RFC 3339 in the
// zone. It returns nil, which becomes null in JSON, for capture.NoTime. A fraction has all nine digits,
// so that columns line up. A full second has none, because many programs, such as jq, read only
// times without fractions.
func Timestamp(t int64, zone *time.Location) *string {
	return (&Timestamps{Zone: zone}).Of(t)
}

// Timestamps formats packet times as Timestamp does, times of the same second much faster.
type Timestamps struct {
	Zone   *time.Location
	second int64
	text   []byte // the second
	at     int64
	last   *string // at that time; nil for none
}

// Of returns a time as Timestamp does.
func (s *Timestamps) Of(t int64) *string {
	if t == capture.NoTime {
		return nil
	}
	if s.last == nil || t != s.at {
		text := string(s.Append(make([]byte, 0, 40), t))
		s.at, s.last = t, &text
	}
	return s.last
}

// Append appends a time other than capture.NoTime.
func (s *Timestamps) Append(text []byte, t int64) []byte {
	nanos := ((t % 1e9) + 1e9) % 1e9
	if nanos == 0 {
		return time.Unix(0, t).In(s.Zone).AppendFormat(text, time.RFC3339)
	}
	if t -= nanos; t != s.second || s.text == nil {
		s.text = time.Unix(0, t).In(s.Zone).AppendFormat(s.text[:0], time.RFC3339)
		s.second, s.text = t, slices.Insert(s.text, len("2006-01-02T15:04:05"), []byte(".000000000")...)
	}
	text = append(text, s.text...)
	digits := text[len(text)-len(s.text)+len("2006-01-02T15:04:05."):]
	for i := 8; nanos > 0; i-- {
		digits[i] += byte(nanos % 10)
		nanos /= 10
	}
	return text
}

// Capitalized returns a text with a capital letter.
func Capitalized(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// Sentence returns text as a sentence: with a capital and a full stop.
func Sentence(text string) string { return Capitalized(text) + "." }

// Note counts an event that is usually absent.
type Note struct {
	Count uint64
	What  string
}

// Notes lists the events that happened: 3 lost, 1 refused.
func Notes(notes ...Note) string {
	var out []string
	for _, n := range notes {
		if n.Count > 0 {
			out = append(out, Count(n.Count)+" "+n.What)
		}
	}
	return strings.Join(out, ", ")
}

// Also lists notes as Notes does, behind a comma if there are any.
func Also(notes ...Note) string {
	if text := Notes(notes...); text != "" {
		return ", " + text
	}
	return ""
}

// Printable makes text from outside harmless to a terminal, and one line long. Names of files
// and interfaces may contain escape sequences, which could move the cursor or hide other text.
// Printable writes characters that do not print as Go does in a string: \n, \x1b, \u202e, and
// \xff for bytes that are not UTF-8.
func Printable(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&out, `\x%02x`, s[0])
		case unprintable(r):
			quoted := strconv.QuoteRune(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		default:
			out.WriteString(s[:n])
		}
		s = s[n:]
	}
	return out.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// Stamp writes a timestamp of JSON for people: it separates the date from the time.
func Stamp(stamp string) string { return strings.Replace(stamp, "T", " ", 1) }

// mostNames is how many kinds of frames that were not opened are named.
const mostNames = 4

// Unopened lists the kinds of frames that were not opened, the most frequent first, with their
// shares of all packets.
func Unopened(kinds map[string]uint64, packets uint64) string {
	names := Largest(kinds)
	var out []string
	for _, name := range names[:min(len(names), mostNames)] {
		out = append(out, name+" "+Percent(float64(kinds[name]), float64(packets), 1))
	}
	if len(names) > mostNames {
		out = append(out, "and others")
	}
	return strings.Join(out, ", ")
}

// NotOpened describes packets without IP and tunnels that were not opened, "" if there are none.
func NotOpened(kinds map[string]uint64, packets uint64) string {
	n := Total(kinds)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s", Count(n), Unopened(kinds, packets))
}

// MostUnopened reports whether more than half of the packets were not opened.
func MostUnopened(kinds map[string]uint64, packets uint64) bool {
	return Total(kinds) > packets/2
}

// plain are the bytes that no shell treats in a special way.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./,:=@%+"

// Quote returns a word as a shell reads it: POSIX 2024, section 2.2.4, if names of files have
// bytes that do not print, and could change what a terminal shows.
func Quote(word string) string {
	if Printable(word) != word {
		return dollarQuote(word)
	}
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// AppendInputs appends the names of inputs to the words of a command line.
func AppendInputs(words, names []string) []string {
	for _, name := range names {
		if strings.HasPrefix(name, "-") && name != "-" {
			words = append(words, "-r")
		}
		words = append(words, name)
	}
	return words
}

// CommandLine quotes the words of a command line, and joins them.
func CommandLine(words []string) string {
	for i, word := range words {
		words[i] = Quote(word)
	}
	return strings.Join(words, " ")
}

// dollarQuote writes all bytes that are not in plain as octal numbers.
func dollarQuote(word string) string {
	var b strings.Builder
	b.WriteString("$'")
	for _, c := range []byte(word) {
		if strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	b.WriteString("'")
	return b.String()
}
