// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// siteRate is how many packets of 800 bytes 10 Gbit/s are, a second.
const siteRate = 10e9 / 8 / 800

// BenchmarkSite has a site of 40 Gbit/s ask a hub, a tenth of a millisecond of packets in
// each iteration (-benchtime 50000x for 5 s), one of 10 and one of 1 Gbit/s.
//
//   - up-B/packet and down-B/packet are the traffic of the site's link as the kernel
//     counts it, with headers of Ethernet, IP and TCP where an MTU of 1500 cuts the
//     stream. up-Mbit/s is the site's rate.
//   - answer-p50-ms and answer-p99-ms are how long answers take, and unchecked-% is the share
//     of packets that got none within 2 s.
func BenchmarkSite(b *testing.B) {
	for _, rate := range []float64{4 * siteRate, siteRate, siteRate / 10} {
		b.Run(fmt.Sprintf("rate=%.0f", rate), func(b *testing.B) { benchmarkSite(b, rate) })
	}
}

func benchmarkSite(b *testing.B, rate float64) {
	l := newSite(b)
	const step = 100 * time.Microsecond
	rng := rand.New(rand.NewPCG(18, 2))
	begin := time.Now()
	asked, before := 0, wireOf(b, l.port)
	for i := 0; b.Loop(); i++ {
		due := int(float64(i+1) * rate * step.Seconds())
		l.ask(rng, due-asked, begin.Add(time.Duration(i)*step), step)
		asked = due
		if wait := time.Until(begin.Add(time.Duration(i+1) * step)); wait > time.Millisecond {
			time.Sleep(wait)
		}
	}
	l.client.Flush()
	time.Sleep(100 * time.Millisecond)
	after, st := wireOf(b, l.port), l.client.Stats()
	up, down := after.up-before.up, after.down-before.down
	b.ReportMetric(0, "ns/op") // meaningless here
	b.ReportMetric(up/float64(asked), "up-B/packet")
	b.ReportMetric(down/float64(asked), "down-B/packet")
	b.ReportMetric(8*up/float64(asked)*rate/1e6, "up-Mbit/s")
	b.ReportMetric(100*float64(st.Unchecked)/float64(asked), "unchecked-%")
	b.ReportMetric(float64(st.DelayP50)/1e6, "answer-p50-ms")
	b.ReportMetric(float64(st.DelayP99)/1e6, "answer-p99-ms")
}

// site is a sensor of a hub.
type site struct {
	client  *hubclient.Client
	port    string
	digests []digest.Digest
	times   []int64
}

func newSite(b *testing.B) *site {
	if _, err := exec.LookPath("ss"); err != nil {
		b.Skip("needs ss")
	}
	_, tokens := startHub(b, 64, nil)
	_, port, _ := strings.Cut(strings.TrimPrefix(tokens[0].URL, "nats://"), ":")
	return &site{client: join(b, tokens[0], hubclient.ClientConfig{Wait: 2 * time.Second}), port: port}
}

// ask asks about new packets, whose times are spread over a step.
func (l *site) ask(rng *rand.Rand, n int, at time.Time, step time.Duration) {
	l.digests, l.times = l.digests[:0], l.times[:0]
	for i := range n {
		l.digests = append(l.digests, digest.Digest{rng.Uint64()})
		l.times = append(l.times, at.UnixNano()+int64(i)*int64(step)/int64(n))
	}
	l.client.Ask(&hubclient.Answers{}, l.digests, l.times, make([]uint64, (n+63)/64))
}

// wire is the traffic of a link, in bytes.
type wire struct{ up, down float64 }

// Headers of Ethernet, IPv4, and TCP with times; and TCP's payload in an MTU of 1500.
const (
	headers = 14 + 20 + 32
	mss     = 1448
)

// wireOf returns the traffic of the connection to a port. The loopback interface has
// packets of up to 64 KiB: each of these counts as one more than its number of full
// packets of 1500 bytes, which is at most one too many.
func wireOf(b *testing.B, port string) (w wire) {
	b.Helper()
	out, err := exec.Command("ss", "-tinOH", "dport", "=", ":"+port).Output()
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		count := func(name string) (n float64) {
			if _, rest, ok := strings.Cut(line, " "+name+":"); ok {
				_, _ = fmt.Sscan(rest, &n) // 0 where there is none
			}
			return n
		}
		w.up += count("bytes_sent") + headers*(count("segs_out")+count("bytes_sent")/mss)
		w.down += count("bytes_received") + headers*(count("segs_in")+count("bytes_received")/mss)
	}
	return w
}
