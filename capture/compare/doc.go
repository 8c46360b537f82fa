// SPDX-License-Identifier: Apache-2.0

// Package compare matches two captures of the same traffic: which packets both sides have,
// which only one side has, and how late the other side saw them. The clocks of the sides may
// differ by any offset, and drift.
//
// A [Comparer] first finds the offset: [Comparer.Search] looks at the first packets of both
// sides, and a [Survey] samples all of both where these have too little in common.
// [Comparer.Run] then reads both sides in step, by the corrected clock, and matches equal
// packets one to one, in their order. A [Report] has the results. Nothing in it depends on how
// the streams are cut into batches. Memory is bounded, and a report says when the bound was
// hit.
//
//	question                           file
//	configuration; the two sides       comparer.go
//	the offset of the clocks; drift    search.go; clock.go
//	batches; both sides in step        batch.go; run.go, place.go
//	equal packets, one to one          step.go, match.go, settle.go
//	repeats on one side                recent.go
//	delays; conversations; the result  delays.go; talks.go; report.go
package compare
