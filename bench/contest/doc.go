// SPDX-License-Identifier: Apache-2.0

// Command contest compares programs that remove duplicate packets: first by correctness,
// then by cost.
//
//	contest make -o DIR [-packets N]   writes the captures, each with a list
//	contest judge [-list FILE] CAPTURE OUTPUT   judges a program's output for a capture
//	contest run [-tool 'NAME: COMMAND {in} {out}']   runs the programs that are installed
//
// A seeded program makes each capture, so it knows which packet each record shows. The
// list has a line for each record that is not the first of its frame, in the form of
// genworkload's: its number, the number of the record that it repeats, and how. Records
// are numbered from 0 in file order. Records that repeat and must stay are a "repeat",
// "retransmission", "keepalive" or "twin"; others are copies.
//
// The judge reads with gopacket, and shares no code with the programs that it judges.
package main
