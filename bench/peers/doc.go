// SPDX-License-Identifier: Apache-2.0

// Package peers compares this project's filters with other Go libraries' filters: on the
// same keys, which everyone hashes within the measured time, at equal memory where a
// filter's size can be chosen, with the rates of wrong answers and the times. It is a
// separate module, so that nothing else here depends on those libraries.
//
// The benchmarks are jobs:
//
//   - Known: a set of known size, in filters of 16 bits an element.
//   - Growing: a set of unknown size, at a false positive rate of 1e-3 at most.
//   - Stream: an endless stream with a window to remember, with 32 or 256 bits of memory
//     for each of the window's elements.
//   - Addresses: a set of IPv4 addresses, exactly.
//
// In all of them half of the elements repeat earlier ones at random places. The
// metrics are ns/element; fpr, the share of first sightings that were taken for
// repeats; fnr, the share of repeats that were taken for first sightings; and
// held-MiB, the memory that the filter holds in the end.
package peers
