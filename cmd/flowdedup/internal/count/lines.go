// SPDX-License-Identifier: Apache-2.0

package count

import (
	"encoding/json"
	"io"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
)

// Lines writes one JSON object per line, each as soon as it is known.
type Lines struct {
	*json.Encoder
	Heading version.Heading // of the lines
}

// Line is a row as a line.
type Line struct {
	version.Heading
	Kind string `json:"kind"` // of the line: `window` or `total`
	*Row
}

// NewLine returns the line of a row.
func NewLine(h version.Heading, r *Row) Line {
	kind := r.Kind
	if kind == "" {
		kind = "window"
	}
	return Line{h, kind, r}
}

// NewLines returns a writer of the lines of a command.
func NewLines(w io.Writer, command string) *Lines {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // values are like "10.0.0.1 > 10.0.0.2"
	return &Lines{enc, version.HeadingOf(command)}
}

// Rows writes the counts of a window that closed.
func (l *Lines) Rows(rows []Row) error {
	for i := range rows {
		if err := l.Encode(NewLine(l.Heading, &rows[i])); err != nil {
			return err
		}
	}
	return nil
}
