package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// ending returns the signals that end a command. It leaves out signals that the parent
// has it ignore, as nohup does with SIGHUP.
func ending() (all []os.Signal) {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			all = append(all, s)
		}
	}
	return all
}

// watchSignals returns a context that the first such signal ends. A second one ends the
// process at once. SIGPIPE becomes the write error that it stands for.
func (e *env) watchSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	over := make(chan struct{})
	ch := make(chan os.Signal, 1)
	if signals := ending(); len(signals) > 0 { // none would stand for all
		signal.Notify(ch, signals...)
	}
	ignoreSIGPIPE()
	go func() {
		defer signal.Stop(ch)
		for {
			select {
			case s := <-ch:
				if !e.hungUp(s) {
					e.end(s, cancel)
				}
			case <-over:
				return
			}
		}
	}()
	return ctx, func() {
		cancel()
		close(over)
	}
}

// onHangup has SIGHUP call f instead of ending the command.
func (e *env) onHangup(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hangup = f
}

// hungUp handles SIGHUP for a command that has another use for it, and reports whether it
// did.
func (e *env) hungUp(s os.Signal) bool {
	e.mu.Lock()
	hangup := e.hangup
	e.mu.Unlock()
	if s != syscall.SIGHUP || hangup == nil || e.signal.Load() != 0 {
		return false
	}
	hangup()
	return true
}

// end asks the command to end; the second time it ends the process.
func (e *env) end(s os.Signal, cancel func()) {
	number, ok := s.(syscall.Signal)
	if !ok {
		number = syscall.SIGINT
	}
	if e.signal.Swap(int32(number)) != 0 {
		os.Exit(exitSignal + int(number))
	}
	cancel()
	if !e.quiet {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.line(s.String() + ": ending; once more ends at once")
	}
}
