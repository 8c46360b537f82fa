// SPDX-License-Identifier: Apache-2.0

// Package distinct counts the distinct elements since a start, and distinguishes first
// sightings from repeats. IPv4Rows counts IPv4 addresses, exactly. DigestRows counts
// everything else, and ScalableBloom does so where memory matters more than errors.
// IPv4Map and DigestMap are the references that they are compared with. All implement
// engine.Counter. Package sliding counts over a span that moves, package windows counts
// several keys in windows. Errors are about memory, or wrap engine.ErrFPR; errors of
// snapshots wrap snapshot.ErrInvalid.
package distinct
