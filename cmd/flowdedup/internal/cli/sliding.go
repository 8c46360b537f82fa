package cli

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/engine/distinct/multikey"
)

// slidingWindow is what --window of distinct says.
type slidingWindow struct {
	none   bool // one window over the whole input
	length time.Duration
}

func parseSlidingWindow(s string) (slidingWindow, error) {
	if s == "none" {
		return slidingWindow{none: true}, nil
	}
	d, err := parseDuration(s)
	if err != nil || d <= 0 || d > longestSlidingWindow {
		return slidingWindow{}, fmt.Errorf("must be none, or a duration up to %v such as 5m, 1h or 1d with --slide", longestSlidingWindow)
	}
	return slidingWindow{length: d}, nil
}

const (
	longestSlidingWindow = 366 * day
	// slidingFPR is kept by up to 2.8e8 keys in a window.
	slidingFPR = 1e-9
)

// slidingMethods are those that can forget at every instant.
var slidingMethods = []string{"auto", "exact"}

// checkSliding checks the flags of windows that slide.
func (f *distinctFlags) checkSliding() error {
	length := f.window.length
	switch {
	case length == 0 && f.slide == 0:
		return nil
	case length == 0:
		return &usageError{errors.New("--slide needs --window, the time to count over, such as --window 1h")}
	case f.slide == 0:
		return &usageError{fmt.Errorf("--window %v needs --slide, how often to count, such as --slide 1m; --window none counts over the whole input", length)}
	case f.slide > length:
		return &usageError{errors.New("--slide must not be longer than --window; --every counts in windows that do not overlap")}
	case length%f.slide != 0 || length/f.slide > multikey.MaxSlides:
		return &usageError{fmt.Errorf("--slide must divide --window, into %d parts at most", multikey.MaxSlides)}
	case f.list:
		return &usageError{errors.New("--list has no meaning with --slide: windows overlap, so no sighting is the first of one alone")}
	case !slices.Contains(slidingMethods, f.method):
		return &usageError{fmt.Errorf("--method %s cannot slide; with --slide it must be auto or exact", f.method)}
	case f.method == "auto" && f.fpr < slidingFPR:
		return &usageError{fmt.Errorf("--fpr must be at least %g with --slide, or --method exact", slidingFPR)}
	}
	return nil
}

// lateText says what happened to a number of late packets.
func (f *distinctFlags) lateText() string {
	if f.slide > 0 {
		return "%d packets came after the row of their slide had been written, or have no timestamp or one far from all others; rows lack them"
	}
	return "%d packets came long after their window had closed and are not counted"
}
