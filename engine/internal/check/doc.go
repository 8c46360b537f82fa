// Package check has what tests of filters share: streams of elements, clocks, benchmarks,
// and checks of snapshots.
package check
