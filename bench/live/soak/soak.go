// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/flowdedup/flowdedup/bench/live/pace"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// soak is one run.
type soak struct {
	duration time.Duration
	rate     int
	dir      string
	out      io.Writer

	begin    time.Time
	process  *exec.Cmd
	launched []time.Time
	samples  []sample
	read     int // complete files
	sent     atomic.Uint64
}

// sample is the process's metrics at one time.
type sample struct {
	when  time.Time
	event string // problems since the sample before
	shown map[string]float64
}

const (
	sampleEvery = 7 * time.Second // at another moment of each window of ten
	mostSamples = 20              // at least, however short the run
	// recovery is the time after an event in which packets may still get lost: a link
	// takes a second to be found and used again.
	recovery = 2 * time.Second
)

func (s *soak) run(steady bool) error {
	defer os.RemoveAll(s.dir)
	if err := os.WriteFile(s.logName(), nil, 0o600); err != nil {
		return err
	}
	work := s.faulty
	if steady {
		work = s.steady
	}
	err := work()
	if err != nil {
		fmt.Fprintf(s.out, "\nflowdedup's messages end with:\n%s\n", tail(s.log()))
	}
	return err
}

// faulty runs with outputs of all kinds, while faults happen.
func (s *soak) faulty() error {
	if err := s.launch(line, nil); err != nil {
		return err
	}
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() { defer close(stopped); s.send(stop) }()
	s.begin = time.Now()
	fmt.Fprintln(s.out, sampleHead)
	err := s.course(events)
	close(stop)
	<-stopped
	err = errors.Join(err, s.interrupt(), s.readFiles(), s.check())
	fmt.Fprintf(s.out, "%d frames sent, %d complete files read, started %d times\n", s.sent.Load(), s.read, len(s.launched))
	return err
}

// send sends until stop is closed. It waits for the interface when that is gone.
func (s *soak) send(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		n, err := pace.Send("left", s.sent.Load(), s.rate/4, s.rate)
		s.sent.Add(n)
		if err != nil {
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// course takes samples and triggers events until the end of the duration.
func (s *soak) course(left []event) error {
	every := min(sampleEvery, s.duration/mostSamples)
	for next := s.begin.Add(every); time.Since(s.begin) < s.duration; next = next.Add(every) {
		time.Sleep(time.Until(next))
		happened := ""
		if len(left) > 0 && time.Since(s.begin).Seconds() >= left[0].at*s.duration.Seconds() {
			happened = left[0].name
			if err := left[0].happen(s); err != nil {
				return fmt.Errorf("%s: %w", happened, err)
			}
			time.Sleep(recovery)
			left, next = left[1:], time.Now()
		}
		if err := s.sample(happened); err != nil {
			return err
		}
	}
	return nil
}

func (s *soak) sample(happened string) error {
	shown, err := metrics()
	if err != nil {
		return fmt.Errorf("after %v: %w", time.Since(s.begin).Round(time.Second), err)
	}
	s.samples = append(s.samples, sample{time.Now(), happened, shown})
	s.printSample()
	return nil
}

// interrupt ends the process with SIGINT, as a user does.
func (s *soak) interrupt() error {
	if err := s.process.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	err := s.process.Wait()
	const interrupted = 130
	if code := s.process.ProcessState.ExitCode(); code != interrupted {
		return fmt.Errorf("interrupted, flowdedup ended with %v instead of exit code %d", err, interrupted)
	}
	return nil
}

// readFiles reads every file that has its final name, with flowdedup and with tcpdump.
func (s *soak) readFiles() error {
	names, err := filepath.Glob(filepath.Join(s.dir, "clean-*.pcapng"))
	if err != nil || len(names) == 0 {
		return fmt.Errorf("no complete files (%w)", err)
	}
	var errs []error
	for _, name := range names {
		for _, reader := range []string{"flowdedup dedup --quiet " + name, "tcpdump -r " + name + " -w /dev/null"} {
			words := strings.Fields(reader)
			if text, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w: %s", reader, err, tail(string(text))))
			}
		}
		s.read++
	}
	return errors.Join(errs...)
}

// tail returns the last thousand bytes or so.
func tail(text string) string { return text[max(0, len(text)-1000):] }

// line is the command under test. It runs in the folder of the disk. Half a million
// frames a second fill a file in about a second and a half.
const line = "live -i right --wait --of src,dst,flow --every 10s --reports rows.jsonl --state state --state-every 5s " +
	"-w clean.pcapng --rotate-size 64MiB --rotate-keep 4 --forward out --http 9469 --json"

const metricsURL = "http://127.0.0.1:9469/metrics"

// launch starts flowdedup, appends its messages, and its output if out is nil, to a log,
// and waits until it answers.
func (s *soak) launch(line string, out *os.File) error {
	log, err := os.OpenFile(s.logName(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer log.Close()
	s.process = exec.Command("flowdedup", strings.Fields(line)...)
	s.process.Dir, s.process.Stdout, s.process.Stderr = s.dir, log, log
	if out != nil {
		s.process.Stdout = out
	}
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.process.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if _, err = metrics(); err == nil {
			s.launched = append(s.launched, time.Now())
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("flowdedup %s: %w\n%s", line, err, s.log())
		}
	}
}

// logName returns the file of messages. It lies next to the small disk, not on it: a full
// disk would lose the message that it is full.
func (s *soak) logName() string { return s.dir + ".log" }

// log returns the messages of flowdedup.
func (s *soak) log() string {
	text, err := os.ReadFile(s.logName())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// metrics returns the metrics of the process. Values of one name with different labels
// are summed.
func metrics() (map[string]float64, error) {
	answer, err := http.Get(metricsURL)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		return nil, err
	}
	sums := map[string]float64{}
	for name, family := range families {
		for _, m := range family.Metric {
			sums[name] += m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
		}
	}
	return sums, nil
}
