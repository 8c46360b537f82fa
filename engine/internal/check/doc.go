// SPDX-License-Identifier: Apache-2.0

// Package check has what tests of filters share: streams of elements, clocks, benchmarks,
// and checks of snapshots.
package check
