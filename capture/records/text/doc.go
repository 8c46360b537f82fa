// SPDX-License-Identifier: Apache-2.0

// Package text reads flow records from text: objects of JSON, a line each or in an array, and
// lines of fields under a header (CSV, or separated by bars, tabs or spaces).
//
// A format maps names to fields. There are presets for the output of common programs.
// [NewReader] finds the one that fits, or takes a [Mapping] of the user's.
//
// Text is not trusted. Unreadable values and records are counted, and the next record is read.
// A record of more than 1 MiB is not one. Nothing is allocated for a record.
package text
