// Package verify wires capture/verify to captures: "flowdedup verify".
package verify
