// Package paper holds the streaming duplicate filters of the literature, each
// as its paper prints it: unblocked, element by element, plain and slow. They
// are the measure for the filters of package engine, whose lines and kernels
// trade some of their accuracy for speed, and what the papers' tables are
// reproduced with.
//
// Where a paper's text is ambiguous or misprinted the type's documentation says
// which reading it takes and why. Every random choice is drawn from a generator
// with a seed, so a run can be repeated to the bit.
package paper
