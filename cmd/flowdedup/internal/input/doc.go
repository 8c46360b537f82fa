// Package input opens the captures that a command line names and takes them through
// workers as one stream of batches.
//
// Regular files are read by all workers at once, a piece by each; what needs the order
// of packets is done for one batch after another. A pipe that stays silent never keeps
// a signal from being answered.
package input
