// SPDX-License-Identifier: Apache-2.0

// Package calendar is about the times of a stream. Calendar and Stream cut time into
// windows, and Clock is the one policy for wrong clocks. The package does not know what
// has the times: packets for some callers, elements for others. Its functions return no
// errors.
//
// A time is a number of nanoseconds since 1970 UTC. The package imports nothing of this
// module, so both capture and engine may use it.
package calendar
