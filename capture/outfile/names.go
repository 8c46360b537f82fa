package outfile

import (
	"fmt"
	"path/filepath"
)

// SplitName takes a name apart before its ending, that of a compression included:
// cap.pcapng.zst into cap and .pcapng.zst.
func SplitName(name string) (stem, ending string) {
	base := filepath.Base(name)
	ending = filepath.Ext(base)
	if Compresses(ending) {
		ending = filepath.Ext(base[:len(base)-len(ending)]) + ending
	}
	if ending == base { // it only begins with a dot
		ending = ""
	}
	return name[:len(name)-len(ending)], ending
}

// Numbered returns a function that gives names in turn: stem.ending,
// stem_002.ending, stem_003.ending and so on.
func Numbered(stem, ending string) func() string {
	number := 0
	return func() string {
		number++
		if number == 1 {
			return stem + ending
		}
		return fmt.Sprintf("%s_%03d%s", stem, number, ending)
	}
}

// Partial is in the names of files that are not complete, before their endings.
const Partial = ".partial"

// partial returns the names that a file which is not complete gets instead of base.
func partial(base string) func() string {
	stem, ending := SplitName(base)
	return Numbered(stem+Partial, ending)
}

// firstOf returns name, and then what next gives.
func firstOf(name string, next func() string) func() string {
	given := false
	return func() string {
		if given {
			return next()
		}
		given = true
		return name
	}
}
