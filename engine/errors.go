package engine

import "errors"

// DefaultFPR is the false positive rate of filters that are asked for none: they take one of a
// billion distinct elements for one seen before at most.
const DefaultFPR = 1e-9

// What errors about the configuration of filters wrap.
var (
	// ErrWindow is about windows.
	ErrWindow = errors.New("bad window")
	// ErrFPR is about false positive rates.
	ErrFPR = errors.New("false positive rate out of range")
	// ErrMemory is about too little memory, or too much.
	ErrMemory = errors.New("memory out of range")
)
