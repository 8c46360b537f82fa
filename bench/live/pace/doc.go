// Package pace sends the lab's traffic at a rate of choice, below what the lab's
// generator has. It is for Linux.
package pace
