// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// chaos is a run with a fault every few seconds.
type chaos struct {
	*lab
	rng     *rand.Rand
	begin   time.Time // begin of the traffic
	outputs []string
	killed  []time.Duration // times when sensors were killed, since begin
	totals  summary         // Unchecked is of all sensors, the others of the last ones
}

const (
	chaosRate  = 1000 // packets a second
	faultEvery = 20 * time.Second
	// unwritten bounds the age of packets that a killed sensor has not written.
	unwritten = 5 * time.Second
)

// TestChaos runs a hub and four sensors for as long as FLOWDEDUP_CHAOS says, with a fault
// each 20 s: once with rows, and once with a chain of slices. No packet may be missing in
// all outputs, except packets that a killed sensor had not yet written. Copies too many are at most
// the packets counted as unchecked. No site is banned.
func TestChaos(t *testing.T) {
	d, err := time.ParseDuration(os.Getenv("FLOWDEDUP_CHAOS"))
	if err != nil {
		t.Skip("set FLOWDEDUP_CHAOS to a duration, or run make test SUITE=chaos")
	}
	for name, args := range map[string]string{"rows": "", "chain": "--filter timers --layout vertical --slices 4"} {
		t.Run(name, func(t *testing.T) { runChaos(t, d, append([]string{"--window", wide}, strings.Fields(args)...)...) })
	}
}

// runChaos is TestChaos with a hub of some settings.
func runChaos(t *testing.T, d time.Duration, hubArgs ...string) {
	c := &chaos{lab: newLab(t, hubArgs...), rng: rand.New(rand.NewPCG(18, 1))}
	for _, s := range sites {
		c.restart(s.name)
	}
	packets := int(d.Seconds()) * chaosRate
	c.begin = time.Now()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		c.send(packets, chaosRate)
	}()
	faults := []struct {
		name string
		do   func()
	}{
		{"kill -9 of the hub", c.killHub}, {"cable one cut for 8 s", func() { c.cut("one", 8*time.Second) }},
		{"cable two cut for 8 s", func() { c.cut("two", 8*time.Second) }}, {"hub stopped for 5 s", c.stopHub},
		{"kill -9 of a sensor", c.killSensor}, {"both cables cut for 3 s", c.cutBoth},
		{"a ring of two hubs", c.ring}, {"a hub of another version for 3 s", c.otherVersion},
	}
	for i := 0; ; i++ {
		select {
		case <-time.After(faultEvery / 2):
		case <-sent:
			c.check(packets)
			return
		}
		if time.Since(c.begin) < d-faultEvery {
			f := faults[i%len(faults)]
			t.Logf("%6.0f s: %s", time.Since(c.begin).Seconds(), f.name)
			start := time.Now()
			f.do()
			time.Sleep(time.Until(start.Add(faultEvery / 2)))
		}
	}
}

// restart starts the sensor of a site, with another output.
func (c *chaos) restart(site string) {
	name := fmt.Sprintf("%s-%d", site, len(c.outputs))
	iface := map[string]string{"a": "left", "b": "right", "c": "left", "d": "right"}[site]
	p := c.start(c.at(site), "flowdedup", "live", "-i", iface, "--hub", c.token(site), "-w", c.output(name), "--json", "--http", "0",
		"udp", "port", fmt.Sprint(port))
	p.wait("started")
	c.sensors[site] = p
	c.outputs = append(c.outputs, name)
}

func (c *chaos) killHub() {
	c.hub.kill()
	time.Sleep(2 * time.Second)
	c.startHub()
}

func (c *chaos) stopHub() {
	_ = c.hub.cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(5 * time.Second)
	_ = c.hub.cmd.Process.Signal(syscall.SIGCONT)
}

func (c *chaos) cut(cable string, d time.Duration) {
	c.hubNet.ip("link set " + cable + " down")
	time.Sleep(d)
	c.hubNet.ip("link set " + cable + " up")
}

func (c *chaos) cutBoth() {
	c.hubNet.ip("link set one down")
	c.cut("two", 3*time.Second)
	c.hubNet.ip("link set one up")
}

// ring starts a hub below the hub, and the hub again below that.
func (c *chaos) ring() {
	shape, folder := c.hubArgs[2:], filepath.Join(c.dir, "ring") // the window comes with the parent
	begin := func(state, address, parent string, args ...string) *process {
		return c.start(c.hubNet, "flowdedup-hub", append([]string{"--state", state, "--listen", address, "--url", "nats://" + address, "--http", "none", "--parent", parent}, args...)...)
	}
	other := begin(folder, "10.90.0.1:4223", c.token("ring"), shape...)
	other.wait("sensors connect")
	back := strings.TrimSpace(c.hubNet.run(filepath.Join(c.programs, "flowdedup-hub"), "join-token", "back", "--state", folder))
	c.hub.stop()
	c.hub = begin(c.hubDir, "10.90.0.1:4222", back)
	c.hub.wait("in a ring")
	time.Sleep(2 * time.Second)
	c.hub.stop()
	other.stop()
	c.hub = begin(c.hubDir, "10.90.0.1:4222", "")
	c.hub.wait("sensors connect")
}

func (c *chaos) otherVersion() {
	older, err := otherMessages()
	if err != nil {
		c.t.Error(err)
		return
	}
	c.hub.stop()
	c.of(older, c.startHub)
	time.Sleep(3 * time.Second)
	c.hub.stop()
	c.startHub()
}

func (c *chaos) killSensor() {
	site := sites[c.rng.IntN(len(sites))].name
	c.totals.Unchecked += c.numbers(site)["flowdedup_hub_unchecked_packets_total"] // nothing has failed for some seconds
	c.killed = append(c.killed, time.Since(c.begin))
	c.sensors[site].kill()
	c.restart(site)
}

// check counts in how many outputs each packet is.
func (c *chaos) check(packets int) {
	time.Sleep(time.Second)
	for _, s := range c.status().Sites {
		if s.Bans > 0 {
			c.t.Errorf("site %s was banned %d times", s.Site, s.Bans)
		}
	}
	for _, s := range sites {
		var sum summary
		if err := json.Unmarshal([]byte(c.sensors[s.name].stop()), &sum); err != nil {
			c.t.Fatal(err)
		}
		c.totals.PacketsIn += sum.PacketsIn
		c.totals.HubCopies += sum.HubCopies
		c.totals.Unchecked += sum.Unchecked
	}
	counts := make([]int, packets)
	for _, name := range c.outputs {
		if _, err := os.Stat(c.output(name)); err != nil {
			c.t.Error(err)
			continue
		}
		for _, n := range readNumbers(c.t, filepath.Join(c.dir, name+".pcapng")) {
			counts[n]++
		}
	}
	lost, gone, once, extra := 0, 0, 0, 0
	for n, k := range counts {
		switch {
		case k == 0 && c.excused(n):
			gone++
		case k == 0:
			lost++
		case k == 1:
			once++
		default:
			extra += k - 1
		}
	}
	const span = 2 * chaosRate
	for from := 0; from < packets; from += span {
		more := 0
		for _, k := range counts[from:min(from+span, packets)] {
			more += max(k-1, 0)
		}
		c.t.Logf("%6d s: %.2f copies of a packet too many", from/chaosRate, float64(more)/span)
	}
	c.t.Logf("%d packets: lost %d, kept once %d, extra copies %d, gone with killed sensors %d, unchecked %d; at the last sensors: %d in, %d removed by the hub",
		packets, lost, once, extra, gone, c.totals.Unchecked, c.totals.PacketsIn, c.totals.HubCopies)
	if lost != 0 {
		c.t.Errorf("%d packets are lost", lost)
	}
	if extra > c.totals.Unchecked {
		c.t.Errorf("%d copies too many, but only %d packets are counted as unchecked", extra, c.totals.Unchecked)
	}
}

// excused reports whether a sensor was killed shortly after a packet.
func (c *chaos) excused(n int) bool {
	at := time.Duration(n) * time.Second / chaosRate
	for _, k := range c.killed {
		if at > k-unwritten && at < k+time.Second {
			return true
		}
	}
	return false
}
