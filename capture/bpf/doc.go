// SPDX-License-Identifier: Apache-2.0

// Package bpf turns filter expressions of libpcap (man 7 pcap-filter) into classic
// BPF programs, and runs such programs on captured frames.
//
// A [Filter] is an expression or a program, as users give them. [Filter.For] compiles an
// expression with the installed tcpdump. No compiler in Go agrees with libpcap: the compiler that
// was tried had 66 of 112 expressions wrong. [Parse] reads a program that tcpdump -ddd
// printed elsewhere, and needs no tcpdump.
//
// The kernel runs a program on a socket (afpacket.Config.Filters). A [Machine] runs it on
// frames of files and of AF_XDP sockets, with the verdicts of tcpdump -r.
//
// Errors wrap [ErrExpression], [ErrNoCompiler] or [ErrProgram].
//
//	question                      file
//	expressions, by tcpdump       compile.go
//	programs: reading, checks     program.go
//	programs: running on frames   machine.go
package bpf
