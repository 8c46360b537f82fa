// SPDX-License-Identifier: Apache-2.0

// Package peers measures this project's filters against those of other Go
// libraries: on the same keys, which everyone hashes within the measured time, at
// equal memory where a filter's size can be chosen, and with the rates of wrong
// answers beside the times. It is a module of its own, so that nothing else here
// depends on those libraries.
//
// The benchmarks are jobs:
//
//   - Known: a set of known size, in filters of 16 bits an element.
//   - Growing: a set of unknown size, at a false positive rate of 1e-3 at most.
//   - Stream: an endless stream, of which a window is to be remembered, with 32 or 256
//     bits of memory for each of its elements.
//   - Addresses: a set of IPv4 addresses, exactly.
//
// In all of them half of the elements repeat earlier ones at random places. The
// metrics are ns/element; fpr, the share of first sightings that were taken for
// repeats; fnr, the share of repeats that were taken for first sightings; and
// held-MiB, the memory that the filter holds in the end.
package peers
