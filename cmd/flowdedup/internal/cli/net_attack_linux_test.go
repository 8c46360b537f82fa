// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// attacker is a peer of a listener that means no good, at a different address than the honest
// peer.
type attacker struct {
	t    *testing.T
	to   string
	rng  *rand.Rand
	open []net.Conn // that stay
	slow net.Conn   // gets a byte of a header each round
	said int        // of it
	sent uint32     // packets, no two of them equal
	wild []int64    // times that are far from the times of honest packets
}

// hostileSource is the Ethernet address of the attacker's packets.
var hostileSource = []byte{6, 0x66, 0x66, 0x66, 0x66, 0x66}

func (a *attacker) dial() net.Conn {
	a.t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 66)}}
	conn, err := d.Dial("tcp", a.to)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = conn.Close() }) // a second time, perhaps
	return conn
}

// say connects and sends. It closes the connection, unless that stays.
func (a *attacker) say(data []byte, stays bool) {
	conn := a.dial()
	_, _ = conn.Write(data) // it may be refused meanwhile
	if stays {
		a.open = append(a.open, conn)
		return
	}
	conn.Close()
}

// packets is a capture of n different packets, at a time.
func (a *attacker) packets(n int, at int64) []byte {
	var b capture.Batch
	iface := b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet, Name: "eth0", TicksPerSecond: 1e9})
	for range n {
		a.sent++
		frame := slices.Concat([]byte{2, 0, 0, 0, 0, 1}, hostileSource, []byte{8, 0x88}, binary.BigEndian.AppendUint32(nil, a.sent), make([]byte, 42))
		b.Append(capture.Frame{Time: at, Interface: iface}, frame)
	}
	return clitest.Encoded(a.t, &b)
}

// round does everything once.
func (a *attacker) round(at int64) {
	for range 20 {
		a.say(nil, true) // silent
	}
	for range 50 {
		a.say(nil, false) // many
	}
	a.slowly()
	garbage := make([]byte, 10_000)
	for i := range garbage {
		garbage[i] = byte(a.rng.Uint32())
	}
	for _, text := range [][]byte{garbage, []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), []byte("\x16\x03\x01\x02\x00\x01"), make([]byte, 5000)} {
		a.say(text, false)
	}
	whole := a.packets(20, at)
	a.say(whole[:len(whole)-1-a.rng.IntN(len(whole)/2)], false) // cut
	a.say(append(a.packets(20, at), garbage...), false)         // damaged
	a.reset(a.packets(5, at))
	for _, size := range []uint32{1 << 31, 0xfffffffc, 16 << 20, 12, 0, 7} { // blocks of other sizes than they can have
		block := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, capture.BlockStatistics), size)
		a.say(append(capture.AppendSectionHeader(nil), block...), true)
	}
	record := a.packets(0, at)
	a.say(append(record, bytes.Repeat([]byte{0xff}, 64)...), false)
	var many capture.Batch
	for i := range 2000 {
		many.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet, Name: fmt.Sprint(a.rng.Uint64(), i)})
	}
	a.say(clitest.Encoded(a.t, &many), false)
	for range 3 { // the receiver may be behind
		a.say(a.packets(1, at), true)
	}
	for _, wild := range a.wild {
		a.say(a.packets(1, wild), true)
	}
}

// slowly sends the next byte of a header.
func (a *attacker) slowly() {
	if a.slow == nil {
		a.slow = a.dial()
	}
	head := capture.AppendSectionHeader(nil)
	_, _ = a.slow.Write(head[a.said : a.said+1]) // it may be cut off
	a.said++
}

// reset sends, and resets the connection.
func (a *attacker) reset(data []byte) {
	conn := a.dial()
	_, _ = conn.Write(data) // it may be refused meanwhile
	_ = conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
}

// end closes all connections.
func (a *attacker) end() {
	for _, conn := range append(a.open, a.slow) {
		conn.Close()
	}
}

// honestFrames returns the packets of a capture that are not the attacker's, with their times,
// and how many others there are.
func honestFrames(t *testing.T, name string) (all []string, hostile int) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	src, err := pcapfile.NewReader(f, name, pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b capture.Batch
	for {
		if err := src.Next(&b); err == io.EOF {
			return all, hostile
		} else if err != nil {
			t.Fatal(err)
		}
		for i := range b.Frames {
			if data := b.Data(i); len(data) > 12 && bytes.Equal(data[6:12], hostileSource) {
				hostile++
			} else {
				all = append(all, fmt.Sprintf("%d %x", b.Frames[i].Time, data))
			}
		}
	}
}

// TestNetworkAttacker has an honest peer and a hostile peer: silent, slow, with garbage, cut
// and damaged captures, blocks of impossible sizes, many interfaces, many connections. Verdicts
// and counts of the honest peer are the same as if it were alone. Wild times change neither
// these nor which copy stays.
func TestNetworkAttacker(t *testing.T) {
	for _, keep := range []string{"flow", "first"} {
		t.Run(keep, func(t *testing.T) { attackPeer(t, []int64{0, 1, 1 << 61, 1 << 62}, "--keep", keep) })
	}
}

// attackPeer runs dedup with an honest and a hostile peer.
func attackPeer(t *testing.T, wild []int64, flags ...string) {
	dir := t.TempDir()
	in, out, ref := clitest.Bundled("router-plain.pcapng"), filepath.Join(dir, "out.pcapng"), filepath.Join(dir, "ref.pcapng")
	want := clitest.RunDedup(t, cli.ExitDone, append([]string{in, "-w", ref}, flags...)...)
	kept, _ := honestFrames(t, ref)
	data := clitest.ReadFile(t, in)
	first := captureStart(t, in)
	port := benchlab.FreePort(t)
	run := startNet(t, append([]string{"dedup", "--json", "tcp-listen://127.0.0.1:" + port, "-w", out}, flags...)...)
	clitest.AwaitSocket(t, port, clitest.Listening)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	a := &attacker{t: t, to: "127.0.0.1:" + port, rng: rand.New(rand.NewPCG(seed, 0)), wild: wild}
	a.round(first)
	honest := clitest.Dialled(t, port)
	defer honest.Close()
	const pieces = 8
	for i := range pieces {
		if _, err := honest.Write(data[i*len(data)/pieces : (i+1)*len(data)/pieces]); err != nil {
			t.Fatal(err)
		}
		a.round(first)
	}
	honest.Close()
	a.end()
	got := run.result(t, cli.ExitDamaged)
	frames, hostile := honestFrames(t, out)
	if !slices.Equal(frames, kept) {
		t.Errorf("%d packets of the honest peer are kept, want %d", len(frames), len(kept))
	}
	if got.Duplicates != want.Duplicates || got.PacketsIn != want.PacketsIn+uint64(hostile) || hostile == 0 {
		t.Errorf("%d duplicates of %d packets, want %d of %d and %d hostile ones", got.Duplicates, got.PacketsIn, want.Duplicates, want.PacketsIn, hostile)
	}
}

// captureStart is the time of the first packet of a capture.
func captureStart(t *testing.T, name string) (at int64) {
	t.Helper()
	all, _ := honestFrames(t, name)
	if _, err := fmt.Sscan(all[0], &at); err != nil {
		t.Fatal(err)
	}
	return at
}
