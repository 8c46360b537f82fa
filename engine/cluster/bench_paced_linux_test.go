// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/live/pace"
)

const (
	pacedRate  = 20_000
	pacedStep  = 1000                   // packets of an iteration
	pacedBurst = 500 * time.Microsecond // as those of pace.Send
)

// BenchmarkPaced sends 20,000 packets a second to live, and to dedup through a pipe, with a hub and
// alone, in a network namespace (-benchtime 60x for 3 s). It needs root.
//
// sensor-% and hub-% are the processor time in percent of a core. Answers take answer-p50-ms and
// answer-p99-ms.
func BenchmarkPaced(b *testing.B) {
	for _, c := range []struct {
		name      string
		live, hub bool
	}{{"live/alone", true, false}, {"live/hub", true, true}, {"dedup/alone", false, false}, {"dedup/hub", false, true}} {
		b.Run(c.name, func(b *testing.B) { benchmarkPaced(b, c.live, c.hub) })
	}
}

func benchmarkPaced(b *testing.B, live, hub bool) {
	err := benchlab.Enter()
	if err = errors.Join(err, benchlab.IP("link set lo up"), benchlab.Pair("left", "right")); err != nil {
		b.Skip(err)
	}
	dir, err := programs()
	if err != nil {
		b.Fatal(err)
	}
	args := []string{"dedup", "-", "-w", os.DevNull}
	if live {
		args = []string{"live", "-i", "right"}
	}
	hubPID := os.Getpid() // without: its time does not count
	if args = append(args, "--keep", "first", "--workers", "1", "--json"); hub {
		pid, tokens := startHub(b, 64, nil)
		hubPID, args = pid, append(args, "--hub", tokens[0].Encode())
	}
	c := exec.Command(dir+"/flowdedup", args...)
	in, inErr := c.StdinPipe()
	out, outErr := c.StdoutPipe()
	if err := errors.Join(inErr, outErr, c.Start()); err != nil {
		b.Fatal(err)
	}
	time.Sleep(time.Second) // it connects
	sent := uint64(0)
	send := func() error {
		_, err := pace.Send("left", sent, pacedStep, pacedRate)
		return err
	}
	if !live {
		send = func() error { return pipe(in, sent) }
	}
	sensor, other, begin := processTime(b, c.Process.Pid), processTime(b, hubPID), time.Now()
	for ; b.Loop(); sent += pacedStep {
		if err := send(); err != nil {
			b.Fatal(err)
		}
	}
	percent := func(used time.Duration) float64 { return 100 * float64(used) / float64(time.Since(begin)) }
	b.ReportMetric(0, "ns/op") // meaningless here
	b.ReportMetric(percent(processTime(b, c.Process.Pid)-sensor), "sensor-%")
	if hub {
		b.ReportMetric(percent(processTime(b, hubPID)-other), "hub-%")
	}
	time.Sleep(100 * time.Millisecond)
	var summary struct {
		HubDelay  struct{ P50, P99 float64 } `json:"hub_delay_ns"`
		Unchecked float64                    `json:"unchecked"`
	}
	if err = in.Close(); live {
		err = c.Process.Signal(syscall.SIGTERM)
	}
	if err = errors.Join(err, json.NewDecoder(out).Decode(&summary)); err != nil {
		b.Fatal(err)
	}
	_ = c.Wait() // its exit code only reports the signal
	if hub {
		b.ReportMetric(summary.HubDelay.P50/1e6, "answer-p50-ms")
		b.ReportMetric(summary.HubDelay.P99/1e6, "answer-p99-ms")
		b.ReportMetric(100*summary.Unchecked/float64(sent), "unchecked-%")
	}
}

// pipe writes the frames of an iteration from a number on, in bursts, as a capture file that begins
// with frame 0.
func pipe(to io.Writer, from uint64) error {
	le, begin, frame := binary.LittleEndian, time.Now(), benchlab.NewFrame(benchlab.MinFrame)
	var text []byte
	if from == 0 {
		for _, word := range []uint32{0xa1b23c4d, 4<<16 | 2, 0, 0, 1 << 16, 1} { // nanoseconds, Ethernet
			text = le.AppendUint32(text, word)
		}
	}
	const burst = pacedRate * uint64(pacedBurst) / uint64(time.Second)
	for i := range uint64(pacedStep) {
		benchlab.Renumber(frame, from+i)
		now := time.Now()
		for _, word := range []uint32{uint32(now.Unix()), uint32(now.Nanosecond()), benchlab.MinFrame, benchlab.MinFrame} {
			text = le.AppendUint32(text, word)
		}
		if text = append(text, frame...); (i+1)%burst > 0 {
			continue
		}
		if _, err := to.Write(text); err != nil {
			return err
		}
		text = text[:0]
		time.Sleep(time.Duration(i+1)*time.Second/pacedRate - time.Since(begin))
	}
	return nil
}
