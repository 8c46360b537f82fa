// SPDX-License-Identifier: Apache-2.0

// Package lab makes network namespaces with pairs of interfaces, and traffic at the
// highest rates, for tests and benchmarks of live capture. Everything but the frames
// needs Linux and root.
package lab
