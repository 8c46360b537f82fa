package cli

import (
	"context"
	"errors"
	"reflect"
	"syscall"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/bpf"
	"github.com/flowdedup/flowdedup/capture/rotate"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/engine"
)

// The exit codes. A run ended by a signal exits with 128 plus its number.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitDamaged = 3
	exitSignal  = 128
)

// usageError marks an error that another command line avoids.
type usageError struct{ err error }

func (u *usageError) Error() string { return u.err.Error() }
func (u *usageError) Unwrap() error { return u.err }

// damagedError marks a run that processed everything before, or around, the damage of its
// inputs.
type damagedError struct{ err error }

func (d *damagedError) Error() string { return d.err.Error() }
func (d *damagedError) Unwrap() error { return d.err }

// errDamageReported ends a run whose damage warnings have reported.
var errDamageReported = errors.New("input damaged")

func (e *env) exitCode(err error) int {
	worst := exitDone
	for _, one := range flatten(err) {
		worst = moreSevere(worst, e.codeOf(one))
	}
	if n := e.signal.Load(); n != 0 && worst == exitDone {
		return exitSignal + int(n)
	}
	return worst
}

// moreSevere puts failure before damage: a missing input weighs more than a damaged one.
func moreSevere(a, b int) int {
	for _, code := range []int{exitUsage, exitFailed, exitDamaged} {
		if a == code || b == code {
			return code
		}
	}
	return exitDone
}

func (e *env) codeOf(err error) int {
	var usage *usageError
	var damaged *damagedError
	switch {
	case errors.As(err, &usage), errors.Is(err, input.ErrRepeatedStdin), errors.Is(err, engine.ErrFPR),
		errors.Is(err, rotate.ErrCannotRotate), errors.Is(err, bpf.ErrExpression):
		return exitUsage
	case errors.As(err, &damaged):
		return exitDamaged
	case isQuietEnd(err) && !errors.Is(err, errDamageReported), isNote(err), errors.Is(err, sink.ErrBlocked):
		return exitDone
	}
	return exitFailed
}

// isNote tells whether an error only says where the packets of a failed run are. Another
// error says why it failed.
func isNote(err error) bool {
	var kept *sink.KeptError
	return errors.As(err, &kept) && kept.Err == nil
}

// isQuietEnd tells errors that need no line of their own: a reader closed the pipe since
// it had enough, the user sent a signal, or warnings have reported the damage.
func isQuietEnd(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, context.Canceled) || errors.Is(err, errDamageReported)
}

// joined is the type that errors.Join returns: several errors side by side. Those of
// fmt.Errorf may wrap several too, but are one sentence.
var joined = reflect.TypeOf(errors.Join(errDamageReported))

// flatten takes joined errors apart.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	if reflect.TypeOf(err) != joined {
		return []error{err}
	}
	var out []error
	for _, one := range err.(interface{ Unwrap() []error }).Unwrap() {
		out = append(out, flatten(one)...)
	}
	return out
}

// markDamage tells damage from failure: damage before the first packet is failure.
func markDamage(err error, packets uint64, damaged bool) error {
	var out []error
	for _, one := range flatten(err) {
		var in *capture.InputError
		if errors.As(one, &in) && !in.Header && packets > 0 {
			one = &damagedError{one}
		}
		out = append(out, one)
	}
	if damaged && len(out) == 0 {
		out = append(out, &damagedError{errDamageReported})
	}
	return errors.Join(out...)
}
