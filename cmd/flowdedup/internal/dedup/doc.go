// SPDX-License-Identifier: Apache-2.0

// Package dedup is "flowdedup dedup": flags, the run that connects sources, identities,
// digests, a filter and outputs, and its output. Its groups of flags and its run are for live,
// too.
package dedup
