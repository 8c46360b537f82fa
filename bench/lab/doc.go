// Package lab makes network namespaces with pairs of interfaces, and traffic to
// put into them at the highest rates, for tests and benchmarks of live capture.
// All but the frames themselves is for Linux, and for root.
package lab
