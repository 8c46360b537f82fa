// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/itchyny/timefmt-go"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/outfile"
)

// untimed takes the place of the time in names of files without times. It sorts before all
// times.
const untimed = "00000000T000000.000Z"

// sortable times are in order as text.
const sortable = "20060102T150405.000000000Z"

// names makes the names of files. Without a template they are in order even if the times of
// packets are not. Only an interval that the rotation went back to breaks the order.
type names struct {
	stem, ending string
	every        time.Duration // of the intervals, 0 for a single interval
	time         int64         // the latest in a name, in whole milliseconds, or NoTime
	number       int           // of the latest name with that time
	template     bool          // stem is a template
}

// newNames splits a name: cap.pcapng.zst into cap and .pcapng.zst.
func newNames(name string, every time.Duration) names {
	stem, ending := outfile.SplitName(name)
	template := every > 0 && strings.Contains(filepath.Base(stem), "%")
	return names{stem: stem, ending: ending, every: every, time: capture.NoTime, template: template}
}

// begin turns to a file whose first packet of its interval has this time, or NoTime.
func (n *names) begin(first int64) {
	if first == capture.NoTime {
		return
	}
	at := floorTime(first, time.Millisecond)
	if at > n.time || n.every > 0 && at < floorTime(n.time, n.every) {
		n.time, n.number = at, 0
	}
}

// next returns the next name of that file.
func (n *names) next() string {
	n.number++
	suffix := ""
	if n.number > 1 {
		suffix = fmt.Sprintf("_%03d", n.number)
	}
	if n.template {
		return n.expand() + suffix + n.ending
	}
	at := untimed
	if n.time != capture.NoTime {
		at = time.Unix(0, n.time).UTC().Format("20060102T150405.000Z")
	}
	return n.stem + "-" + at + suffix + n.ending
}

// pattern matches the names that files of these names may have, in their folder.
func (n *names) pattern() *regexp.Regexp {
	timed := regexp.QuoteMeta(filepath.Base(n.stem)) + `-(\d{8}T\d{6}\.\d{3}Z)`
	if n.template {
		timed = n.templatePattern()
	}
	return regexp.MustCompile(`^` + timed + `(?:_(\d+))?(?:` +
		regexp.QuoteMeta(outfile.Partial) + `(?:_\d+)?)?` + regexp.QuoteMeta(n.ending) + `$`)
}

// conversions are the conversions of strftime that a template may have, and patterns of their results.
var conversions = map[byte]string{
	'Y': `\d{4}`, 'y': `\d{2}`, 'm': `\d{2}`, 'd': `\d{2}`, 'j': `\d{3}`, 'H': `\d{2}`, 'I': `\d{2}`, 'M': `\d{2}`, 'S': `\d{2}`,
	'F': `\d{4}-\d{2}-\d{2}`, 'T': `\d{2}:\d{2}:\d{2}`, 's': `-?\d+`, 'z': `[-+]\d{4}`, 'Z': `[-+A-Za-z0-9]+`,
	'a': `[A-Za-z]+`, 'A': `[A-Za-z]+`, 'b': `[A-Za-z]+`, 'B': `[A-Za-z]+`, 'p': `[A-Za-z]+`, '%': `%`,
}

// checkTemplate rejects a template with an unknown conversion, or with a conversion in the name of a
// folder: folders must exist.
func (n *names) checkTemplate() error {
	if !n.template {
		return nil
	}
	if strings.Contains(filepath.Dir(n.stem), "%") {
		return fmt.Errorf("%s%s %w: %% of strftime may be in the name of the file, not of its folder", n.stem, n.ending, ErrCannotRotate)
	}
	var err error
	eachPart(filepath.Base(n.stem), func(string) {}, func(c byte) {
		if conversions[c] == "" && err == nil {
			err = fmt.Errorf("%s%s %w: %%%s is unknown; a name may have %%Y %%m %%d %%H %%M %%S and others of strftime, and %%%% for %%",
				n.stem, n.ending, ErrCannotRotate, strings.Trim(string(rune(c)), "\x00"))
		}
	})
	return err
}

// eachPart calls literal and conversion for the parts of a template, in order. A % at the end is
// the conversion 0.
func eachPart(template string, literal func(string), conversion func(byte)) {
	for {
		at := strings.IndexByte(template, '%')
		switch {
		case at < 0:
			literal(template)
			return
		case at+1 == len(template):
			conversion(0)
			return
		}
		literal(template[:at])
		conversion(template[at+1])
		template = template[at+2:]
	}
}

// expand returns the template with the time of the file in it, in the local zone, as tcpdump has
// it. Files without times have the time of 1970.
func (n *names) expand() string {
	at := n.time
	if at == capture.NoTime {
		at = 0
	}
	dir, base := filepath.Split(n.stem)
	return dir + timefmt.Format(time.Unix(0, at), base)
}

// templatePattern matches what the template expands to, in a group.
func (n *names) templatePattern() string {
	var out strings.Builder
	eachPart(filepath.Base(n.stem), func(s string) { out.WriteString(regexp.QuoteMeta(s)) }, func(c byte) { out.WriteString(conversions[c]) })
	return "(" + out.String() + ")"
}

// timeOf returns the time that a template was expanded with, or when the file was written if
// the template does not say the day.
func (n *names) timeOf(expanded string, written time.Time) time.Time {
	template := filepath.Base(n.stem)
	has := func(c string) bool { return strings.Contains(template, "%"+c) }
	if !has("s") && !has("F") && !((has("Y") || has("y")) && (has("j") || has("m") && has("d"))) {
		return written
	}
	t, err := timefmt.ParseInLocation(expanded, template, time.Local)
	if err != nil {
		return written
	}
	return t
}
