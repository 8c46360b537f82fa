// Package bpf turns filter expressions of libpcap (man 7 pcap-filter) into classic
// BPF programs, and runs such programs on captured frames.
//
// [Compile] leaves the language to libpcap: to the tcpdump that is installed or, with
// the build tag libpcap, to the library itself. No compiler in Go agrees with it; the
// one tried was wrong in 66 of 112 expressions. [Parse] reads a program that somebody
// compiled elsewhere, as tcpdump -ddd prints it, and needs neither.
//
// A program can be attached to a socket (ring.Config.Filters) if [Check] says so, where
// the kernel runs it, or run here by a [Machine], whose verdicts are those of
// tcpdump -r. [Filter] is either an expression or a program, as users give them.
package bpf
