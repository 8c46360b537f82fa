// SPDX-License-Identifier: Apache-2.0

// Package extcap implements "flowdedup extcap", which lets Wireshark capture through flowdedup:
// its interfaces appear in Wireshark's list without their duplicate packets, with a dialog of
// settings.
//
// Wireshark runs every program of its folder extcap with the arguments that its manual
// describes (extcap(4), doc/README.extcap of its source), and reads answers of one
// sentence a line. To capture, it names a pipe.
package extcap
