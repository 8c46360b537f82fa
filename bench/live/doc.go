// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command live times receivers of live traffic: flowdedup live, tools that do a part of
// its work, and two baselines: a ring that only walks over packets (baseline-ring), and one
// that also digests and looks up (baseline-live):
//
//	live [-quick] [-rounds N] [-senders LIST] [-skip LIST] [-dir FOLDER] > live.txt
//
// It prints results in the form of go test -bench, from which bench/peers/report makes
// the tables. bench/bench.sh builds the programs. All receivers run in turn in every round,
// in a network namespace of their own. There bench/lab's traffic comes over a pair of
// interfaces: at the highest rate by its generator (xdp), and at a million a second through
// a packet socket (sendmmsg). With -senders pair the generator sends through the pair, so
// that the driver of the other end receives: only these frames reach the XDP program of
// --capture xdp. Then it measures the delay that flowdedup's --forward adds, and
// baseline-ring's. Finally it sends through the pair at several rates and at the highest,
// which shows the rates that both captures take without loss.
//
// Other programs on the machine make these delays grow by one to two ticks of the
// scheduler (4 ms each at CONFIG_HZ=250), and all receivers lose packets. With real-time
// priority for everything (chrt -f 50 live ...) only the receivers' own delays and losses
// remain.
//
// flowdedup, the baselines, gopackets and the tools are taken from the PATH; unavailable
// receivers and senders are left out, and standard error says so.
package main
