package stamp

import "github.com/flowdedup/flowdedup/capture"

// Usable is capture.UsableTime.
func Usable(t int64) int64 { return capture.UsableTime(t) }
