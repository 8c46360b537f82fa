// SPDX-License-Identifier: Apache-2.0

// Package countfile saves the distinct counters of windows, and unites the counters of
// several sensors, as the example of Merge does. writer.go and reader.go have the format,
// merge.go the union (with cursor.go), joint.go the windows of several files.
//
// A [Writer] writes the contents of package distinct's counters, window by window. [Open]
// finds the windows of a file, and [Merge] unites the sensors' parts of a window as a
// stream: a set of any size takes a block of memory for each file. Sets unite exactly; if
// any sensor has a sketch, the union is a sketch.
//
// # Format
//
// A file is the eight bytes FLOWCNT1 and records. A record is a byte for its kind, the
// length of its content in 4 bytes, the content, and the CRC-32C (Castagnoli) of all
// these in 4 bytes. Numbers are little-endian.
//
//	H  JSON: the sensor, and the settings that must be equal to merge. The first record.
//	W  JSON: a window, its bounds in nanoseconds since 1970 UTC, the end excluded; where it
//	   is cut, "seen_from" and "seen_to" bound the part that was counted.
//	S  JSON: a series of it: key, family, packets; "set" with width and count, or "sketch".
//	B  a block of a set: see package wordset. Words ascend from block to block.
//	R  the registers of a sketch: see distinct.Sketch.Append.
//	E  nothing. The last record: a file without it is not complete.
//
// The version is the last byte of the first eight. Errors about content wrap ErrInvalid,
// and name the file and the offset of the damaged record.
package countfile
