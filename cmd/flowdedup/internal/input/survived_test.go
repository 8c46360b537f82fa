package input

import (
	"errors"
	"testing"
)

// TestNoWarningAfterClose wants silence from a reader that is still in the
// middle of a read when the stream is closed.
func TestNoWarningAfterClose(t *testing.T) {
	told := 0
	s := &survived{tell: func(error) { told++ }}
	s.warn(errors.New("one"))
	s.end()
	s.warn(errors.New("two"))
	if told != 1 || !s.any() {
		t.Errorf("%d warnings told, any is %v", told, s.any())
	}
}
