// SPDX-License-Identifier: Apache-2.0

package input

import (
	"errors"
	"testing"
)

// TestNoWarningAfterClose checks that a read that outlives Close gives no warning.
func TestNoWarningAfterClose(t *testing.T) {
	told := 0
	w := &warnings{emit: func(error) { told++ }}
	w.warn(errors.New("one"))
	w.end()
	w.warn(errors.New("two"))
	if told != 1 || !w.damaged() {
		t.Errorf("%d warnings told, any is %v", told, w.damaged())
	}
}
