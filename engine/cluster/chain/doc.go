// SPDX-License-Identifier: Apache-2.0

// Package chain holds slices of the filters of KNPS, "One is Enough: Distributed Filtering
// for Duplicate Elimination" (Koloniari, Ntarmos, Pitoura, Souravlias, CIKM 2011): Bloom
// filters and filters of timers, cut horizontally, vertically or both ways.
//
// An element's bits lie in several vertical slices. Asked side by side they let both of two
// equal packets pass that two sites send at the same time. So vertical slices are links of a
// chain, which a request goes through in the order of their numbers. Messages keep their
// order on each hop, so all links see all requests in one order, and the chain decides as one
// filter does, without locks. A horizontal slice is a chain of one link.
//
// There are two primitives. By test-and-set a link sets bits as it tests them, and the
// last link answers. By first-test-then-set links report the values that they hold, and
// the last link decides. New elements go round the chain once more to be set. Until they
// are back, the last link remembers them: so requests that were tested meanwhile are
// decided as if they had been set at once. Timers need this, since the timers of
// duplicates must not be set.
//
// A Link is a deterministic function of the messages that it receives. It uses no network
// and no clock.
//
//	question                                    file
//	the shape of a chain; its predicted errors  shape.go; predict.go
//	a link and its messages                     link.go, message.go
//	bits and timers; where an element has them  store.go, running.go; places.go
//	growth                                      grow.go
//	the last link: what is a copy               decider.go, finish.go
//	elements that wait for a hub above; probes  hold.go; probe.go
//	saved state; counts                         snapshot.go; stats.go
package chain
