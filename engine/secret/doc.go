// Package secret has the key of a run, and derives from it the key for each use.
package secret
