// SPDX-License-Identifier: Apache-2.0

// Package analyzers holds an independent judge of outputs, and tests that run the recipes
// of the manual with analyzers that Debian packages.
//
// judge.py counts flows as an analyzer does whose flow key has the capture point in it. It
// shares no code with the command. It reads with tshark, or with a reader of its own.
package analyzers
