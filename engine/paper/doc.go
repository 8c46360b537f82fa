// SPDX-License-Identifier: Apache-2.0

// Package paper holds the streaming duplicate filters of the literature, each as its
// paper prints it: unblocked, element by element, plain and slow. They are the reference
// for the filters of package engine, whose lines and kernels trade some accuracy for
// speed, and bench/papers reproduces the papers' tables with them. Programs use package
// engine; nothing here is built for speed.
//
// The papers are cited by the short names that package theory lists. Where a paper's
// text is ambiguous or misprinted the documentation of the type says under
// "Interpretation" how it reads the text and why. Every random choice comes from a
// generator with a seed, so a run can be repeated bit by bit. [Filter] and
// [TimedFilter] are the interfaces. Errors of the constructors wrap [ErrParameter].
//
//	filters of                                     file
//	DR06: stable Bloom filters; what it compares   stable.go; bloom.go, buffers.go
//	BDNB12: biased sampling                        biased.go
//	GLN19: quotient tables, and what it compares   qht.go, semisort.go; compared.go
//	MAE05: landmark, jumping and sliding windows   bloom.go, windows.go
//	KNPS: timers, sizes, slices and trees          timerbloom.go, dynamic.go, slicing.go, tree.go
//	what they share                                filter.go, cells.go, draws.go
package paper
