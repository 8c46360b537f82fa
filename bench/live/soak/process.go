//go:build linux

package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// line is what is soaked, in the folder of the disk. Half a million frames a second fill
// a file in about a second and a half.
const line = "live -i right --wait --of src,dst,flow --every 10s --reports rows.jsonl --state state --state-every 5s " +
	"-w clean.pcapng --rotate-size 64MiB --rotate-keep 4 --forward out --listen 9469 --json"

const metricsURL = "http://127.0.0.1:9469/metrics"

// launch starts flowdedup, whose messages are added to a log, and waits until it answers.
func (s *soak) launch() error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	s.process = exec.Command("flowdedup", strings.Fields(line)...)
	s.process.Dir, s.process.Stdout, s.process.Stderr = s.dir, log, log
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

// log returns what flowdedup has said.
func (s *soak) log() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// metrics returns what the process shows of itself; what has labels is added up.
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
