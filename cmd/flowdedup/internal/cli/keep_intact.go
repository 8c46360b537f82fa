// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"

	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
)

// preferFirst is the word of --prefer that keeps the first of equal packets, whatever is wrong
// with it.
const preferFirst = "first"

// newPreferences returns the value of --prefer, of which each use adds a preference.
func newPreferences(f *keepFlags) *parsed[[]input.Condition] {
	v := newConditions(&f.prefer)
	condition := v.parse
	v.parse = func(text string) ([]input.Condition, error) {
		if text == preferFirst {
			f.first = true
			return f.prefer, nil
		}
		return condition(text)
	}
	return v
}

// checkFirst rejects preferences beside --prefer first.
func (f *keepFlags) checkFirst() error {
	if f.first && len(f.prefer) > 0 {
		return errors.New("--prefer first keeps the first of equal packets: leave out the other --prefer")
	}
	return nil
}

// intact reports whether whole packets with the right checksums are kept before others. It
// matters for what is written, where equal packets may differ in that.
func (f *keepFlags) intact(c flow.IdentityConfig) bool { return f.written && !f.first && c.Uneven() }
