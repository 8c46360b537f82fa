// SPDX-License-Identifier: Apache-2.0

// Package show is shared by all output for people: formats of numbers, tables, charts for
// terminals and pages, and text that is harmless to a terminal.
package show
