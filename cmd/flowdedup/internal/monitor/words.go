package monitor

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// count writes a number with its thousands apart.
func count(n uint64) string { return humanize.Comma(int64(min(n, math.MaxInt64))) }

// perSecond writes a rate with a prefix of the unit where it is large.
func perSecond(v float64, unit string) string {
	if v < 10 {
		v = math.Round(10*v) / 10
	} else {
		v = math.Round(v)
	}
	if v < 1000 { // a prefix would be milli where it is below 1
		return strings.TrimSpace(strconv.FormatFloat(v, 'f', -1, 64)+" "+unit) + "/s"
	}
	return humanize.SIWithDigits(v, 2, unit) + "/s"
}

// percent writes the share that part has of whole; nothing has no shares.
func percent(part, whole float64) string {
	if whole <= 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100*part/whole)
}

// spell writes a duration without units that are zero.
func spell(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// clean is what is shown of text that comes from outside, names above all.
func clean(s string) string { return show.Printable(s) }
