// Package show has what all that people read has in common: text that is harmless to a
// terminal, and charts for pages.
package show
