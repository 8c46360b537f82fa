// Package multikey counts the distinct elements of several keys of one stream: sources,
// destinations and flows of the same packets, say. It counts them in the windows of a
// calendar, over a span before any moment, or in windows that slide.
//
// A Counter takes elements in batches, with the time of each packet that they come
// from. All decisions are taken at positions of the stream and by packet times. So counts
// depend neither on how the stream is cut into batches nor on the wall clock.
//
// Memory is that of the current window, and
//
//   - of the next one once seven eighths of the time of this one have passed: as much as
//     this one's counters need, and at most 1 GiB (see preallocate);
//   - of windows that wait for packets out of order, at most 1 GiB.
//
// The memory of a window that closes is returned in the background. Config.Budget
// bounds all of it, and that of Config.Past: what does not fit is counted by samples.
package multikey
