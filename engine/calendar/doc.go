// Package calendar is about the times of a stream. It cuts them into windows (Calendar,
// Stream), and has the one policy for clocks that are wrong (Clock). It knows nothing of
// what has the times: packets for some callers, elements for others.
//
// A time is a number of nanoseconds since 1970 UTC. The package imports nothing of this
// module, so both the capture and the engine side may use it.
package calendar
