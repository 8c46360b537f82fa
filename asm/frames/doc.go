// SPDX-License-Identifier: Apache-2.0

// Package frames has the kernels that go through what a batch knows of its packets: times,
// lengths and places, whatever the packets hold. Functions panic if slices are too short,
// and return no errors. They take linear time and do not allocate.
//
//	question                                    function   contract    plain twin
//	times, bytes, order of many packets         Sum        frames.go   frames.go
//	messages that are the whole packets         Messages   frames.go   frames.go
//	do all times lie within a span              Within     frames.go   frames.go
//	points of frames with a VLAN tag, or none   Points     place.go    place.go
package frames
