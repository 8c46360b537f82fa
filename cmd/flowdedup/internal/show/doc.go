// Package show has what all output for people has in common: formats of numbers, tables,
// charts for terminals and pages, and text that is harmless to a terminal.
package show
