// SPDX-License-Identifier: Apache-2.0

// Package plan implements "flowdedup plan". It turns the command line (flags.go, config.go) and
// the measurement of a capture (measure.go) into a question for package sizing, and presents
// the answer: as commands to run (command.go), JSON (summary.go), text (text.go) and a page
// (page.go).
package plan
