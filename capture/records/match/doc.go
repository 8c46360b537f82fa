// SPDX-License-Identifier: Apache-2.0

// Package match says which flow records are copies: those that report a flow, and a
// time of it, that another point reported before.
//
// A [Judge] is asked about batches in the order in which they came. Records of one point
// are never copies of each other. What the judge remembers of a flow is bounded, and
// where there is no room the records pass as unchecked.
//
//	question                                     file
//	what makes records tell of the same flow     key.go
//	where a record was made, and its clock       points.go, clock.go
//	policy owner                                 owner.go
//	policy record                                pairs.go
//	sampled exports                              boundary.go
//	one record of all points                     hold.go
package match
