// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"io"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/flows/text"
)

// formatAuto detects the format of an input.
const formatAuto = "auto"

// formats returns the names of the formats of inputs.
func formats() []string { return append([]string{formatAuto}, text.Formats()...) }

// isText reports whether an input that begins with head is text.
func isText(head []byte) bool {
	for _, b := range head[:min(len(head), 16)] {
		if b < ' ' && b != '\n' && b != '\r' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return true
}

// openText opens input number n.
func (r *runner) openText(in io.Reader, name string, n uint32) (records.Reader, error) {
	format := r.cfg.Format
	if format == formatAuto {
		format = ""
	}
	t, err := text.NewReader(in, shown(name), text.Config{Format: format, Mapping: r.cfg.Map, Times: r.cfg.Times, Input: n})
	if err != nil {
		return nil, err
	}
	r.both = r.both || t.Both()
	r.texts = append(r.texts, t)
	return t, nil
}

// noteUnread remembers the values that could not be read so far, if there are more than
// before.
func (r *runner) noteUnread(before uint64) {
	if r.counts.Unread == before {
		return
	}
	r.values = r.values[:0]
	for _, t := range r.texts {
		r.values = t.AppendUnread(r.values)
	}
}

// noteDamage remembers how many records of text are damaged.
func (r *runner) noteDamage() {
	r.badLines = 0
	for _, t := range r.texts {
		r.badLines += t.Counts().Undecodable
	}
}

// unreadSummary is a field with values that could not be read, or cannot be.
type unreadSummary struct {
	Field   string `json:"field"` // as --map names it
	Values  uint64 `json:"values"`
	Example string `json:"example"`
	// Time says that the field holds times.
	Time bool `json:"-"`
}

// unreadOf adds up the unread values of several inputs, and records of messages with impossible times.
func unreadOf(all []text.Unread, counts *records.Counts) []unreadSummary {
	sum := []unreadSummary{}
	for _, u := range all {
		i := slices.IndexFunc(sum, func(s unreadSummary) bool { return s.Field == u.Field })
		if i < 0 {
			sum = append(sum, unreadSummary{Field: u.Field, Example: u.Example, Time: u.Part == records.PartTime})
			i = len(sum) - 1
		}
		sum[i].Values += u.Values
	}
	if n := counts.Misdated; n > 0 {
		sum = append(sum, unreadSummary{Field: "time", Values: n, Example: time.Unix(0, counts.MisdatedAt).UTC().Format(time.RFC3339Nano), Time: true})
	}
	return sum
}
