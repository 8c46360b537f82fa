// SPDX-License-Identifier: Apache-2.0

// Command contest compares programs that remove duplicate packets: by what is right first,
// then by what it costs.
//
//	contest make -o DIR [-packets N]   writes the captures, and a list beside each
//	contest judge [-list FILE] CAPTURE OUTPUT   judges what a program wrote of a capture
//	contest run [-tool 'NAME: COMMAND {in} {out}']   runs the programs that are installed
//
// A seeded program makes each capture, so that it knows of each record which packet it
// shows. The list has a line for each record that is not the first of its frame, in the
// form of genworkload's: its number, the number of the record that it repeats, and how.
// Records are numbered from 0 in file order. Those that repeat and must stay are a
// "repeat", "retransmission", "keepalive" or "twin"; others are copies.
//
// The judge reads with gopacket, and shares no code with what it judges.
package main
