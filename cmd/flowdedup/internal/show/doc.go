// Package show has what all that people read on a terminal has in common.
package show
