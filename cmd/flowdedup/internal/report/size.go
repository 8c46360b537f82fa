package report

import (
	"fmt"

	"github.com/dustin/go-humanize"
)

// Size writes a number of bytes as flags accept it: whole MiB or KiB, rounded
// up.
func Size(n int) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%dMiB", (n+1<<20-1)>>20)
	}
	return fmt.Sprintf("%dKiB", (n+1<<10-1)>>10)
}

func count(n uint64) string { return humanize.Comma(int64(n)) }
