// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"syscall"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/bpf"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/records/match"
	"github.com/flowdedup/flowdedup/capture/rotate"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/engine"
)

// The exit codes. A run ended by a signal exits with 128 plus its number.
const (
	ExitDone    = 0
	ExitFailed  = 1
	ExitUsage   = 2
	ExitDamaged = 3
	// ExitDifferent is for compare and verify: a difference was found.
	ExitDifferent = 4
	ExitSignal    = 128
)

// usageError marks an error that a different command line avoids.
type usageError struct{ err error }

func (u *usageError) Error() string { return u.err.Error() }
func (u *usageError) Unwrap() error { return u.err }

// Usage returns an error that a different command line avoids: err.
func Usage(err error) error { return &usageError{err} }

// Usagef is Usage of fmt.Errorf.
func Usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// damagedError marks damage of an input after which, or around which, everything was
// processed.
type damagedError struct{ err error }

func (d *damagedError) Error() string { return d.err.Error() }
func (d *damagedError) Unwrap() error { return d.err }

// errDamageReported is the error of a run whose damage was reported by warnings.
var errDamageReported = errors.New("input damaged")

// ErrDifferent is the error of a run that found a difference. The summary says which.
var ErrDifferent = errors.New("different")

// ErrUnknown is the error of a run that could not decide. The summary says why.
var ErrUnknown = errors.New("unknown")

// ExitCode returns the exit code of a command that returned err: the most severe code of its parts.
func (e *Env) ExitCode(err error) int {
	worst := ExitDone
	for _, one := range flatten(err) {
		worst = moreSevere(worst, e.codeOf(one))
	}
	if first := e.signal.Load(); first != nil && worst == ExitDone {
		return ExitSignal + int(first.number)
	}
	return worst
}

// moreSevere returns the exit code that wins: a missing input is worse than a difference, and that
// worse than a damaged input.
func moreSevere(a, b int) int {
	for _, code := range []int{ExitUsage, ExitFailed, ExitDifferent, ExitDamaged} {
		if a == code || b == code {
			return code
		}
	}
	return ExitDone
}

func (e *Env) codeOf(err error) int {
	var usage *usageError
	var damaged *damagedError
	switch {
	case errors.As(err, &usage), errors.Is(err, input.ErrRepeatedStdin), errors.Is(err, engine.ErrFPR),
		errors.Is(err, rotate.ErrCannotRotate), errors.Is(err, bpf.ErrExpression), errors.Is(err, afpacket.ErrConfig),
		errors.Is(err, match.ErrState), errors.Is(err, outfile.ErrNotState):
		return ExitUsage
	case errors.As(err, &damaged), errors.Is(err, ErrUnknown):
		return ExitDamaged
	case errors.Is(err, ErrDifferent):
		return ExitDifferent
	case isQuietEnd(err) && !errors.Is(err, errDamageReported), isNote(err), errors.Is(err, sink.ErrBlocked):
		return ExitDone
	}
	return ExitFailed
}

// isNote reports whether an error only says where the packets of a failed run are. The reason
// of the failure is an error of its own.
func isNote(err error) bool {
	var kept *sink.KeptError
	return errors.As(err, &kept) && kept.Err == nil
}

// isQuietEnd reports whether an error needs no message: the reader of a pipe had enough,
// the user sent a signal, or warnings or the summary have reported the reason.
func isQuietEnd(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, context.Canceled) || errors.Is(err, errDamageReported) ||
		errors.Is(err, ErrDifferent) || errors.Is(err, ErrUnknown)
}

// joined is the type of errors that errors.Join returns: separate errors. An error of
// fmt.Errorf may wrap several, but is one sentence.
var joined = reflect.TypeOf(errors.Join(errDamageReported))

// flatten returns the parts of joined errors.
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

// MarkUsage marks joined errors that wrap kind: a different command line avoids them.
func MarkUsage(err, kind error) error {
	var out []error
	for _, one := range flatten(err) {
		if errors.Is(one, kind) {
			one = Usage(one)
		}
		out = append(out, one)
	}
	return errors.Join(out...)
}

// NothingRead reports that a run failed before its first packet, so that it has no result.
func NothingRead(packets uint64, err error) bool {
	return packets == 0 && err != nil && !errors.Is(err, context.Canceled)
}

// MarkDamage separates damage from failure. Damage before the first packet is a failure.
func MarkDamage(err error, packets uint64, damaged bool) error {
	var out []error
	for _, one := range flatten(err) {
		var in *capture.InputError
		if errors.As(one, &in) && !in.Header && packets > 0 {
			one = &damagedError{one}
		}
		out = append(out, one)
	}
	if damaged && !slices.ContainsFunc(out, func(one error) bool { return !isNote(one) }) {
		out = append(out, &damagedError{errDamageReported})
	}
	return errors.Join(out...)
}

// hangup is SIGHUP, which package syscall has no name for in a browser.
const hangup = syscall.Signal(1)

// ending returns the signals that end a command. A parent that ignores SIGHUP means it
// (nohup). A shell without job control ignores SIGINT and SIGQUIT for each command in the
// background, but whoever sends them to the command wants it to end, as tcpdump does.
func ending() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT}
	if !hangupIgnored() {
		all = append(all, hangup)
	}
	return all
}

// watchSignals returns a context that ends with the first signal. A second signal ends the process
// at once, unless it is the echo of the first. SIGPIPE is ignored, so that the write returns an
// error.
func (e *Env) watchSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	over := make(chan struct{})
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, ending()...)
	ignoreSIGPIPE()
	for range 2 { // the goroutine of the first signal may wait for standard error
		go e.takeSignals(ch, over, cancel)
	}
	return ctx, func() {
		cancel()
		close(over)
	}
}

// takeSignals takes signals until the command is over.
func (e *Env) takeSignals(ch chan os.Signal, over <-chan struct{}, cancel func()) {
	for {
		select {
		case s := <-ch:
			if !e.hungUp(s) {
				e.end(s, cancel)
			}
		case <-over:
			signal.Stop(ch)
			e.endLate(ch, cancel)
			return
		}
	}
}

// endLate takes the signals that came before the command was over, and that nobody has taken. A
// second signal ends the process, which may wait for whoever reads its results. A first signal comes
// too late to end the command.
func (e *Env) endLate(ch <-chan os.Signal, cancel func()) {
	for {
		select {
		case s := <-ch:
			if e.signal.Load() != nil {
				e.end(s, cancel)
			}
		default:
			return
		}
	}
}

// OnHangup makes SIGHUP call f instead of ending the command.
func (e *Env) OnHangup(f func()) {
	e.hangup.Store(&f)
}

// hungUp calls the function of OnHangup on SIGHUP, and reports whether it did.
func (e *Env) hungUp(s os.Signal) bool {
	call := e.hangup.Load()
	if s != hangup || call == nil || e.signal.Load() != nil {
		return false
	}
	(*call)()
	return true
}

// received is a signal that came.
type received struct {
	number syscall.Signal
	at     time.Time
}

// echo is how long the same signal may come again without counting as a second signal: timeout(1)
// sends each signal twice, to the process and to its group.
const echo = 500 * time.Millisecond

// echoes reports whether r is the first signal, delivered again.
func (r *received) echoes(first *received) bool {
	return r.number == first.number && r.at.Sub(first.at) < echo
}

// end asks the command to end. A second signal ends the process.
func (e *Env) end(s os.Signal, cancel func()) {
	r := &received{number: syscall.SIGINT, at: time.Now()}
	if number, ok := s.(syscall.Signal); ok {
		r.number = number
	}
	if !e.signal.CompareAndSwap(nil, r) {
		if !r.echoes(e.signal.Load()) {
			os.Exit(ExitSignal + int(r.number))
		}
		return
	}
	cancel()
	if !e.Quiet.Load() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.line(s.String() + ": ending; a second signal ends at once")
	}
}
