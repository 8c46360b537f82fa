package stamp

import (
	"time"

	"github.com/flowdedup/flowdedup/capture"
)

// layout is RFC 3339 with all nine digits, so that columns line up.
const layout = "2006-01-02T15:04:05.000000000Z07:00"

// Format returns a time in nanoseconds since 1970 UTC as RFC 3339 text in the
// zone, or nil, which JSON shows as null, for capture.NoTime.
func Format(t int64, zone *time.Location) *string {
	if t == capture.NoTime {
		return nil
	}
	s := time.Unix(0, t).In(zone).Format(layout)
	return &s
}
