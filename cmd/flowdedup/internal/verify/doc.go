// Package verify is "flowdedup verify": flags, the run of capture/verify over captures, and
// what it prints.
package verify
