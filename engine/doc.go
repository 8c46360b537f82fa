// SPDX-License-Identifier: Apache-2.0

// Package engine holds the contracts of the filters, which remember the digests of a
// stream. A filter answers whether an element came before, within a window, with a given
// memory and probability of error. The filters themselves are in the packages below. They
// take batches, and know nothing of the bytes of packets. Their verdicts depend only on
// stream positions and packet times, neither on the wall clock nor on the size of
// batches.
//
//	question                   type                    bytes an element  error
//	is it a copy, in a window  window.Timed            29 to 36          1.1e-11
//	                           window.Coarse           8 to 12           9e-7 or 7e-10
//	                           window.Exact            47 to 94          none
//	                           window.Timers           K timers of 1, 2  by the load
//	did it come before         stream.Filter           fixed in all      6e-5
//	how many since a start
//	  IPv4 addresses           distinct.IPv4Rows       3 to 11           none
//	                           distinct.IPv4Map        0.3 to 41         none
//	  anything else            distinct.DigestRows     13 to 26          n / 2^64
//	                           distinct.ScalableBloom  4.5, 10, 20       1e-3, 1e-6, 1e-9
//	                           distinct.DigestMap      30 to 61          none
//	  in fixed memory          stream.Counter          fixed in all      the filter's
//	how many, the last W       sliding.Rows            13 to 32          n / 2^58
//	                           sliding.Map             30 to 61          none
//
// The error is the probability that the filter takes a new element for an element that
// came before. n is the number of elements it knows. The error is 1.7e-10 for window.Timed
// across points. For stream.Filter it is the rate of rows of 4x16 bits. window.Timed takes at
// least half of the second-level cache, and grows to the bytes an element above. "None"
// leaves only equal digests of 128 bits. IPv4Rows, DigestRows and sliding.Rows count a
// sample where they may not grow any more; their counts then have bounds. window.Exact,
// IPv4Map, DigestMap and sliding.Map are the references that the others are compared
// with: they are plain, and take several cache misses an element.
//
// Package distinct/windows counts several keys of one stream in windows. Package calendar
// cuts time into windows, and has the only policy for wrong clocks. A Secret derives the
// keys of digests. Package snapshot writes and reads the contents of filters. Package
// paper has the filters of the literature as printed, package theory their closed forms,
// and package sizing chooses a filter for a load.
package engine
