// SPDX-License-Identifier: Apache-2.0

package input

import (
	"errors"
	"testing"
)

// TestNoWarningAfterClose checks that a read that outlives Close gives no warning.
func TestNoWarningAfterClose(t *testing.T) {
	emitted := 0
	w := &warnings{emit: func(error) { emitted++ }}
	w.warn(errors.New("one"))
	w.end()
	w.warn(errors.New("two"))
	if emitted != 1 || !w.damaged() {
		t.Errorf("%d warnings told, any is %v", emitted, w.damaged())
	}
}
