// SPDX-License-Identifier: Apache-2.0

// Package dedup removes duplicate packets from a stream: it connects sources, identities,
// digests, a filter and outputs, and counts what happens.
package dedup
