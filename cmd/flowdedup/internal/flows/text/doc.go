// SPDX-License-Identifier: Apache-2.0

// Package text reads flow records from text: objects of JSON, a line each or in an array, and
// lines of fields under a header (CSV, or separated by bars, tabs or spaces).
//
// A format maps names to fields. There are presets for the output of common programs.
// [NewReader] finds the preset that fits, or takes a [Mapping] of the user's.
//
// Text is not trusted. Unreadable values and records are counted, and the next record is read.
// A record of more than 1 MiB is unreadable. Nothing is allocated for a record.
//
//	question                             file
//	which format a text has              reader.go, format.go, ahead.go
//	lines of JSON; of fields and Zeek    json.go; csv.go
//	records with the names of earlier    shape.go
//	what a name may mean; unread values  target.go
//	a batch; a record                    batch.go; record.go
//	numbers and addresses; names; times  value.go; names.go; time.go
package text
