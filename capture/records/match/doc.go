// SPDX-License-Identifier: Apache-2.0

// Package match finds copies among flow records. A copy reports a flow at a time for which
// another point reported it before.
//
// A [Judge] is asked about batches in the order in which they came. Records of one point are
// never copies of each other. The judge's memory is bounded. Records without room pass as
// unchecked. The example reads messages, judges their records and cuts the copies out.
//
//	question                                file
//	what a copy is; a judge                 config.go; judge.go
//	which records report the same flow      key.go
//	where a record was made, and its clock  points.go, clock.go
//	policy owner; its memory                owners.go; owners_cell.go
//	policy record                           pairs.go
//	sampled exports                         boundary.go
//	one record of all points                hold.go
package match
