// SPDX-License-Identifier: Apache-2.0

package count

import (
	"encoding/json"
	"io"
)

// Lines writes one JSON object per line, each as soon as it is known.
type Lines struct{ *json.Encoder }

// NewLines returns a writer of lines.
func NewLines(w io.Writer) *Lines {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // values are like "10.0.0.1 > 10.0.0.2"
	return &Lines{enc}
}

// Rows writes the counts of a window that closed.
func (l *Lines) Rows(rows []Row) error {
	for i := range rows {
		if err := l.Encode(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}
