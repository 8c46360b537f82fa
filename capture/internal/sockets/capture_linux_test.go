// SPDX-License-Identifier: Apache-2.0

package sockets

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
)

// pipePort is a Port whose packets are datagrams that a test writes. Such a socket is bound
// to no interface, so an interface that is down counts as removed.
type pipePort struct {
	Interface
	read, write int
	now         Device // what LookUp finds
	openErr     error
	openings    int
	endless     bool // it never says that it is drained
	stopped     bool
	received    uint64
}

func (p *pipePort) CountedTwice() uint64 { return 0 }

func newPipePort(up bool) *pipePort {
	p := &pipePort{read: -1, write: -1}
	p.Device = Device{Name: "pipe", Index: 7, Up: up, Link: capture.LinkEthernet}
	p.now = p.Device
	return p
}

func (p *pipePort) At() *Interface          { return &p.Interface }
func (p *pipePort) LookUp() (Device, error) { return p.now, nil }
func (p *pipePort) Final(err error) bool    { return errors.Is(err, errFinal) }
func (p *pipePort) Start() error            { return nil }
func (p *pipePort) Stop()                   { p.stopped = true }

var errFinal, errPassing = errors.New("for good"), errors.New("for now")

func (p *pipePort) Open() error {
	p.openings++
	if p.openErr != nil {
		return p.openErr
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	p.read, p.write = pair[0], pair[1]
	return err
}

func (p *pipePort) Close() {
	if p.read >= 0 {
		_, _ = unix.Close(p.read), unix.Close(p.write) // nobody reads the rest
		p.read, p.write = -1, -1
	}
}

func (p *pipePort) Sockets(set []unix.PollFd) []unix.PollFd {
	return append(set, unix.PollFd{Fd: int32(p.read), Events: unix.POLLIN})
}

func (p *pipePort) Waiting() bool {
	set := p.Sockets(nil)
	n, err := unix.Poll(set, 0)
	return err == nil && n > 0
}

func (p *pipePort) Behind() bool { return p.Waiting() }

func (p *pipePort) Drained() bool { return !p.endless && !p.Waiting() }

func (p *pipePort) Counts() (received, dropped uint64) { return p.received, 1 }

// fill reads one packet.
func (p *pipePort) fill(b *capture.Batch) (int, error) {
	var packet [64]byte
	n, err := unix.Read(p.read, packet[:])
	if err != nil {
		return 0, nil
	}
	p.received++
	b.Frames = append(b.Frames, capture.Frame{Data: uint32(len(b.Buf)), CapLen: uint32(n), WireLen: uint32(n), Interface: p.Number})
	b.Buf = append(b.Buf, packet[:n]...)
	return n, nil
}

func (p *pipePort) send(t *testing.T, packet string) {
	t.Helper()
	if _, err := unix.Write(p.write, []byte(packet)); err != nil {
		t.Fatal(err)
	}
}

// capturing returns a capture from a port, whose first batch was read.
func capturing(t *testing.T, p *pipePort, conf Config) *Capture {
	t.Helper()
	if conf.Fill == nil {
		conf.Fill = p.fill
	}
	c, err := New(conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := errors.Join(c.Add(p, 64), c.Start()); err != nil {
		t.Fatal(err)
	}
	var b capture.Batch
	if err := c.Next(&b); err != nil || len(b.Frames) != 0 || len(b.Blocks) == 0 || len(b.Interfaces) != 1 {
		t.Fatalf("the first batch: %d frames, %d blocks, %v", len(b.Frames), len(b.Blocks), err)
	}
	return c
}

// wantPacket expects one packet in the next batch.
func wantPacket(t *testing.T, c *Capture, want string) {
	t.Helper()
	var b capture.Batch
	if err := c.Next(&b); err != nil || len(b.Frames) != 1 || string(b.Buf) != want {
		t.Fatalf("%d frames of %q, %v; want %q", len(b.Frames), b.Buf, err, want)
	}
}

// wantEnd expects statistics, and then an error, again and again.
func wantEnd(t *testing.T, c *Capture, want error) {
	t.Helper()
	var b capture.Batch
	if err := c.Next(&b); err != nil || len(b.Frames) != 0 || len(b.Blocks) != 1 || b.Blocks[0].Type != capture.BlockStatistics {
		t.Fatalf("%d frames, %d blocks, %v; want statistics", len(b.Frames), len(b.Blocks), err)
	}
	for range 2 {
		if err := c.Next(&b); !errors.Is(err, want) {
			t.Fatalf("%v, want %v", err, want)
		}
	}
}

// TestStop wakes a Next that waits, which then delivers what came before, also where the event
// of Stop cannot be set, as on a system that refuses the call.
func TestStop(t *testing.T) {
	for _, refused := range []bool{false, true} {
		p := newPipePort(true)
		c := capturing(t, p, Config{DrainTime: time.Minute})
		p.send(t, "one")
		wantPacket(t, c, "one")
		if refused {
			c.stop.Close()
		}
		time.AfterFunc(time.Millisecond, c.Stop)
		wantEnd(t, c, io.EOF)
		if done, total := c.Offset(); !p.stopped || done != 3 || total != 0 {
			t.Errorf("stopped %v, offset %d of %d, event refused: %v", p.stopped, done, total, refused)
		}
	}
}

// TestStopDelivers has packets wait when Stop is called.
func TestStopDelivers(t *testing.T) {
	p := newPipePort(true)
	c := capturing(t, p, Config{DrainTime: time.Minute})
	p.send(t, "one")
	p.send(t, "two")
	c.Stop()
	wantPacket(t, c, "one")
	wantPacket(t, c, "two")
	wantEnd(t, c, io.EOF)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	c.Stop() // does nothing after Close
	if err := c.Next(&capture.Batch{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestDrainTime ends a capture whose port never says that it has nothing more.
func TestDrainTime(t *testing.T) {
	p := newPipePort(true)
	p.endless = true
	c := capturing(t, p, Config{DrainTime: 20 * time.Millisecond})
	c.Stop()
	wantEnd(t, c, io.EOF)
}

// TestIdle returns from time to time while nothing comes.
func TestIdle(t *testing.T) {
	p := newPipePort(true)
	c := capturing(t, p, Config{Idle: time.Millisecond})
	for range 3 {
		var b capture.Batch
		if err := c.Next(&b); err != nil || len(b.Frames) != 0 {
			t.Fatalf("%d frames, %v", len(b.Frames), err)
		}
	}
	p.send(t, "late")
	wantPacket(t, c, "late")
}

// TestWake ends a wait, also one that begins later, and no other wait.
func TestWake(t *testing.T) {
	p := newPipePort(true)
	c := capturing(t, p, Config{Idle: time.Hour})
	for _, delay := range []time.Duration{0, 10 * time.Millisecond} {
		time.AfterFunc(delay, c.Wake)
		time.Sleep(5*time.Millisecond - delay)
		var b capture.Batch
		if err := c.Next(&b); err != nil || len(b.Frames) != 0 {
			t.Fatalf("%d frames, %v", len(b.Frames), err)
		}
	}
	time.AfterFunc(10*time.Millisecond, func() { p.send(t, "late") })
	wantPacket(t, c, "late")
}

// TestDelay waits for more packets while few wait, and not longer than it must.
func TestDelay(t *testing.T) {
	p, asked := newPipePort(true), 0
	c := capturing(t, p, Config{Delay: func() time.Duration {
		if asked++; asked > 1 {
			return 0
		}
		return time.Millisecond
	}})
	p.send(t, "one")
	wantPacket(t, c, "one")
	p.send(t, "two")
	wantPacket(t, c, "two")
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
}

// TestFillFails delivers the packets before an error.
func TestFillFails(t *testing.T) {
	broken := errors.New("broken")
	p := newPipePort(true)
	c := capturing(t, p, Config{Fill: func(b *capture.Batch) (int, error) {
		n, _ := p.fill(b)
		return n, broken
	}})
	p.send(t, "last")
	wantPacket(t, c, "last")
	wantEnd(t, c, broken)
}

// TestDownAtFirst refuses an interface that is down, or waits until it is up.
func TestDownAtFirst(t *testing.T) {
	p := newPipePort(false)
	c, err := New(Config{Fill: p.fill})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Add(p, 64); !errors.Is(err, ErrDown) || p.openings != 0 {
		t.Errorf("%v, opened %d times", err, p.openings)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}

	p = newPipePort(false)
	c = capturing(t, p, Config{Wait: true, Idle: time.Millisecond, Fill: p.fill})
	p.now.Up, p.openErr = true, errPassing
	for p.openings < 2 { // an error that passes is tried again
		if err := c.Next(&capture.Batch{}); err != nil {
			t.Fatal(err)
		}
	}
	if n, why, _ := p.State(); n != 0 || why == "" {
		t.Errorf("%d outages, %q", n, why)
	}
	p.openErr = nil
	for p.read < 0 {
		if err := c.Next(&capture.Batch{}); err != nil {
			t.Fatal(err)
		}
	}
	p.send(t, "up")
	wantPacket(t, c, "up")
	if n, why, _ := p.State(); n != 0 || why != "" {
		t.Errorf("%d outages, %q", n, why)
	}
}

// TestDownForGood ends a capture whose interface comes back as what it cannot be.
func TestDownForGood(t *testing.T) {
	for _, c := range []struct {
		change func(*pipePort)
		want   error
	}{
		{func(p *pipePort) { p.openErr = errFinal }, errFinal},
		{func(p *pipePort) { p.now.Link = capture.LinkRaw }, ErrLinkChanged},
	} {
		p := newPipePort(false)
		src := capturing(t, p, Config{Wait: true, Fill: p.fill})
		p.now.Up = true
		c.change(p)
		wantEnd(t, src, c.want)
	}
}

// TestBehind reports waiting packets and the end of a capture.
func TestBehind(t *testing.T) {
	p := newPipePort(true)
	c := capturing(t, p, Config{})
	var b capture.Batch
	if c.Behind() {
		t.Error("behind without packets")
	}
	p.send(t, "packet")
	if !c.Behind() {
		t.Error("not behind with a packet")
	}
	if err := c.Next(&b); err != nil || len(b.Frames) != 1 || c.Behind() {
		t.Errorf("after the packet: %d frames, %v, behind %v", len(b.Frames), err, c.Behind())
	}
	c.Stop()
	if err := c.Next(&b); err != nil || !c.Behind() {
		t.Errorf("after Stop: %v, behind %v", err, c.Behind())
	}
}
