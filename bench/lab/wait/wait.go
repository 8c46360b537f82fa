// SPDX-License-Identifier: Apache-2.0

// Package wait makes tests wait for a condition instead of a time.
package wait

import (
	"testing"
	"time"
)

// Timeout bounds the time that tests wait for an expected event. It lasts on a machine
// with forty times as much work as processors.
const Timeout = 2 * time.Minute

// For waits until done returns true. It returns false after Timeout.
func For(done func() bool) bool {
	for deadline := time.Now().Add(Timeout); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// Until is For, and ends the test after Timeout. what completes the message "waited too
// long for".
func Until(t testing.TB, what string, done func() bool) {
	t.Helper()
	if !For(done) {
		t.Fatal("waited too long for ", what)
	}
}
