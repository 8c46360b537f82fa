// SPDX-License-Identifier: Apache-2.0

// Package headers has the kernels that know Ethernet and IP. They are the fast path of
// capture/flow, for frames without rare headers; all other frames take its slow path,
// which decodes headers one by one. Functions panic if slices are too short, and return
// no errors.
//
//	question                                 function         contract      plain twin
//	where is the IP datagram in a frame      FindDatagrams   datagram.go   datagram.go
//	addresses and ports of many datagrams    Tuples.List      tuple.go      none: capture/flow decodes
package headers
