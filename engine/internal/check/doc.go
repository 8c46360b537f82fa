// Package check holds what tests of filters share: streams of elements, clocks, benchmarks, and
// checks of what filters save.
package check
