// SPDX-License-Identifier: Apache-2.0

// Package input opens the captures that a command line names, and takes the packets
// that are wanted through workers as one stream (see capture/pipeline).
//
// A pipe that stays silent never keeps a signal from being answered.
package input
