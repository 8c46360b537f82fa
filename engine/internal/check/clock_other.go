// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package check

import "time"

var epoch = time.Now()

// ThreadTime returns the time that has passed.
func ThreadTime() time.Duration { return time.Since(epoch) }
