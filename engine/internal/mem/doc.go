// Package mem has what filters share that lie in arenas: checks, sizes, and memory that is handed
// over before it is used.
package mem
