//go:build !linux

package engine

import "time"

var pauseEpoch = time.Now()

// threadTime returns the time that has passed.
func threadTime() time.Duration { return time.Since(pauseEpoch) }
