// SPDX-License-Identifier: Apache-2.0

// Package distinct counts the distinct elements since a start, and distinguishes first
// sightings from repeats. Package sliding counts over a span that moves, package windows
// counts several keys in windows of time. All counters implement engine.Counter. Errors are
// about memory, or wrap engine.ErrFPR; errors of snapshots wrap snapshot.ErrInvalid.
//
//	counter             elements        result                          file
//	IPv4Rows            IPv4 addresses  exact                           ipv4.go, exact_rows.go
//	DigestRows          all others      exact, unless 64 bits collide   digests.go, exact_rows.go
//	ScalableBloom       all others      less memory, at a chosen error  bloom.go
//	Sketched            all             an estimate, in 16 KiB          sketched.go, sketch.go
//	IPv4Map, DigestMap  the same        exact: the references of tests  reference.go
package distinct
