// SPDX-License-Identifier: Apache-2.0

// Package sliding counts the distinct elements of the last hour, or another span W, at
// every instant. Rows is the counter to use, Map the reference that it is compared with,
// and Addresses makes digests of IPv4 addresses for both. For counts since a start see
// package distinct; for several keys at once see package multikey. Errors wrap
// engine.ErrWindow or engine.ErrMemory; those of snapshots wrap snapshot.ErrInvalid.
package sliding
