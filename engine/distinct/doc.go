// SPDX-License-Identifier: Apache-2.0

// Package distinct counts the distinct elements since a start, and distinguishes first
// sightings from repeats:
//
//	counter, err := distinct.NewIPv4Rows(secret.AESKey(engine.UsePermutation), 0)
//	counter.TestAndSet(seen, addresses) // bit i of seen: address i came before
//	n := counter.Counts().Distinct
//
// Package sliding counts over a span that moves, package windows
// counts several keys in windows of time. All counters implement engine.Counter. Errors
// about configurations wrap engine.ErrConfig, errors about snapshots snapshot.ErrInvalid.
//
//	counter             elements        result                          file
//	IPv4Rows            IPv4 addresses  exact                           ipv4.go, exact_rows.go
//	DigestRows          all others      exact, unless 64 bits collide   digests.go, exact_rows.go
//	ScalableBloom       all others      less memory, at a chosen error  bloom.go
//	Sketched            all             an estimate, in 16 KiB          sketched.go, sketch*.go
//	IPv4Map, DigestMap  the same        exact: the references of tests  reference.go
package distinct
