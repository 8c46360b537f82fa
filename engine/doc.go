// Package engine holds the contracts of the filters: what remembers the digests of a stream,
// within which window, in how much memory and with which probability of error. The filters
// lie in the packages below. They take batches and know nothing of packets. Their verdicts
// depend on stream positions and packet times alone, never on moments of the run or the
// size of batches.
//
//	question                           type                    bytes an element  error
//	is this a copy, within a window    window.Timed            11 to 256         1 of 2e11 (1e10 across points)
//	                                   window.Exact            47 to 94          none
//	                                   window.Timers           8 to 16 a timer   grows with the load
//	did it come before, no end         stream.Filter           fixed in all      1 of 17,000 with rows of 4x16
//	how many distinct, since a start
//	    IPv4 addresses                 distinct.IPv4Rows       3 to 11           none
//	                                   distinct.RoaringIPv4    as they lie       none
//	    anything else                  distinct.DigestRows     13 to 26          n of 2e19 where n are known
//	                                   distinct.ScalableBloom  4.5, 10, 20       1e-3, 1e-6, 1e-9 as asked for
//	                                   distinct.DigestMap      19 to 39          none
//	    in fixed memory                stream.Counter          fixed in all      as the filter's
//	how many distinct, the last W      sliding.Rows            13 to 32          none at whole steps
//	                                   sliding.Map             29 to 57          none
//
// None means none but equal digests of 128 bits. Where IPv4Rows, DigestRows and sliding.Rows may
// not grow any more they count a sample, and say between which bounds the number lies.
// window.Exact, RoaringIPv4, DigestMap and sliding.Map are the measure for the others: they are
// plain, and take several cache misses an element.
//
// Package calendar cuts time into windows and is the one policy for wrong clocks. Package
// secret derives the keys of digests, and package snapshot writes and reads what filters
// remember. Package paper has the filters of the literature as printed, package theory their
// closed forms, and package sizing what to choose.
package engine
