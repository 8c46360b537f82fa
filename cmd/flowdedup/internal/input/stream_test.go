package input

import (
	"errors"
	"testing"
)

// TestNoWarningAfterClose wants silence from a reader that is still in the
// middle of a read when the stream is closed.
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
