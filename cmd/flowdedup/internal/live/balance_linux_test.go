// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// talk returns packets of conversations between two hosts each, in both directions, from the
// given ID on. Each is sent twice.
func talk(id uint16, hosts int) (all [][]byte) {
	for h := range hosts {
		for turn := range 4 {
			f := clitest.Frame{ID: id, Src: byte(h), TTL: 64}.Bytes()
			if id++; turn%2 == 1 {
				var from [4]byte
				copy(from[:], f[26:30])
				copy(f[26:30], f[30:34])
				copy(f[30:34], from[:])
			}
			all = append(all, f, f)
		}
	}
	return all
}

// talk6 is talk over IPv6, of at most 128 hosts.
func talk6(id uint16, hosts int) (all [][]byte) {
	for h := range hosts {
		for turn := range 4 {
			f := make([]byte, 64)
			copy(f[12:], []byte{0x86, 0xdd, 0x60})
			f[19], f[20], f[21] = 10, 17, 64 // payload length, UDP, hop limit
			client, server := [16]byte{0: 0xfd, 15: byte(h)}, [16]byte{0: 0xfd, 1: 1, 15: 1}
			ports := [4]byte{4, 0, 1, 187}
			if turn%2 == 1 {
				client, server, ports = server, client, [4]byte{1, 187, 4, 0}
			}
			copy(f[22:], client[:])
			copy(f[38:], server[:])
			copy(f[54:], ports[:])
			f[59] = 10 // length of UDP
			f[62], f[63] = byte(id>>8), byte(id)
			id++
			all = append(all, f, f)
		}
	}
	return all
}

// hostOf returns which conversation of talk or talk6 a packet belongs to, and its ID.
func hostOf(frame string) (host byte, id uint16) {
	if frame[12] == 0x86 {
		id = uint16(frame[62])<<8 | uint16(frame[63])
		if frame[23] == 0 { // fd00::x is the source
			return 128 | frame[37], id
		}
		return 128 | frame[53], id
	}
	id = uint16(frame[18])<<8 | uint16(frame[19])
	if frame[28] == 0 { // 10.0.0.x is the source
		return frame[29], id
	}
	return frame[33], id
}

// checkShares checks that each packet is in one of the files, once, and that conversations are
// whole.
func checkShares(t *testing.T, packets int, files ...string) {
	t.Helper()
	at, seen := map[byte]int{}, map[uint16]bool{}
	for i, file := range files {
		got := clitest.FramesOf(t, file)
		if len(got) == 0 {
			t.Errorf("output %d got nothing", i)
		}
		for _, frame := range got {
			host, id := hostOf(frame)
			if where, known := at[host]; known && where != i {
				t.Errorf("conversation of %d is at outputs %d and %d", host, where, i)
			}
			if seen[id] {
				t.Errorf("packet %d came twice", id)
			}
			at[host], seen[id] = i, true
		}
	}
	if len(seen) != packets {
		t.Errorf("%d packets of %d", len(seen), packets)
	}
}

// sensors starts captures behind outputs out0, out1, and so on.
func sensors(t *testing.T, n int) (runs []*liveRun, files []string) {
	t.Helper()
	for i := range n {
		clitest.Pair(t, fmt.Sprint("out", i), fmt.Sprint("sensor", i))
		files = append(files, filepath.Join(t.TempDir(), "sensor.pcapng"))
		runs = append(runs, startLive(t, "-i", fmt.Sprint("sensor", i), "-w", files[i], "--method", "exact", "--window", "n:1", "--json"))
	}
	return runs, files
}

// TestLiveForwardAll sends everything to each of several interfaces.
func TestLiveForwardAll(t *testing.T) {
	t.Parallel()
	clitest.Lab(t)
	clitest.Pair(t, "left", "right")
	behind, files := sensors(t, 2)
	r := startLive(t, "-i", "left", "--forward", "out0", "--forward", "out1", "--json", "--window", "5s")
	frames := talk(1, 20)
	clitest.SendBytes(t, "right", frames...)
	s := r.stop()
	for i := range behind {
		behind[i].stop()
		if got := clitest.FramesOf(t, files[i]); len(got) != len(frames)/2 || s.Forwards[i]["sent"] != float64(len(got)) {
			t.Errorf("output %d: %d packets of %d, %v", i, len(got), len(frames)/2, s.Forwards)
		}
	}
}

// TestLiveBalance gives each conversation to one of three interfaces.
func TestLiveBalance(t *testing.T) {
	t.Parallel()
	clitest.Lab(t)
	clitest.Pair(t, "left", "right")
	behind, files := sensors(t, 3)
	r := startLive(t, "-i", "left", "--forward", "out0", "--forward", "out1", "--forward", "out2", "--balance", "conversation", "--json", "--window", "5s")
	frames := append(talk(1, 60), talk6(1001, 60)...)
	clitest.SendBytes(t, "right", frames...)
	s := r.stop()
	total := 0.0
	for i := range behind {
		behind[i].stop()
		total += s.Forwards[i]["sent"].(float64)
	}
	if total != float64(len(frames)/2) || s.Duplicates != uint64(len(frames)/2) {
		t.Errorf("%v packets were sent of %d: %+v", total, len(frames)/2, s)
	}
	checkShares(t, len(frames)/2, files...)
}

// TestLiveBalanceStreams gives each conversation to one of two peers over TCP. The summary counts
// for each.
func TestLiveBalanceStreams(t *testing.T) {
	t.Parallel()
	clitest.Lab(t)
	clitest.IP(t, "link set lo up")
	clitest.Pair(t, "left", "right")
	addresses := []string{"127.0.0.1:57012", "127.0.0.1:57013"}
	r := startLive(t, "-i", "left", "-w", "tcp-listen://"+addresses[0], "-w", "tcp-listen://"+addresses[1], "--balance", "conversation", "--json", "--window", "5s")
	var conns []net.Conn
	var got []*bytes.Buffer
	for _, address := range addresses {
		c, err := net.DialTimeout("tcp4", address, wait.Timeout)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		head := &bytes.Buffer{}
		if _, err := io.CopyN(head, c, 8); err != nil { // of the section: it is a peer
			t.Fatal(err)
		}
		conns, got = append(conns, c), append(got, head)
	}
	frames := talk(1, 40)
	clitest.SendBytes(t, "right", frames...)
	s := r.stop()
	var files []string
	for i, c := range conns {
		if _, err := io.Copy(got[i], c); err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(t.TempDir(), "peer.pcapng"))
		if err := os.WriteFile(files[i], got[i].Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	checkShares(t, len(frames)/2, files...)
	for i, file := range files {
		if o := s.Outputs[i]; o.Name != "tcp-listen://"+addresses[i] || o.Packets != uint64(len(clitest.FramesOf(t, file))) || o.Lost != 0 {
			t.Errorf("%+v", o)
		}
	}
}

// peer connects to an output, and copies what comes to a file.
func peer(t *testing.T, address, file string) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp4", address, wait.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	if _, err := io.CopyN(out, c, 8); err != nil { // of the section: it is a peer
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(out, c) }() // until the connection ends
	return c
}

// TestLiveBalanceStreamLeaves has one of two peers over TCP leave: the other one gets its share,
// until it is back.
func TestLiveBalanceStreamLeaves(t *testing.T) {
	t.Parallel()
	clitest.Lab(t)
	clitest.IP(t, "link set lo up")
	clitest.Pair(t, "left", "right")
	addresses := []string{"127.0.0.1:57014", "127.0.0.1:57015"}
	r := startLive(t, "-i", "left", "-w", "tcp-listen://"+addresses[0], "-w", "tcp-listen://"+addresses[1], "--balance", "conversation", "--on-failure", "spread", "--json", "--window", "5s")
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	first := peer(t, addresses[0], file("first"))
	peer(t, addresses[1], file("second"))
	frames := talk(1, 40)
	clitest.SendBytes(t, "right", frames...)
	all := len(frames) / 2
	wait.Until(t, "the first packets", func() bool { return packetsIn(file("first"))+packetsIn(file("second")) == all })
	share := packetsIn(file("second"))
	if share == 0 || share == all {
		t.Fatalf("the second peer got %d packets of %d", share, all)
	}
	first.Close()
	id, rounds := uint16(1001), 0
	wait.Until(t, "a round whose packets all go to the second peer", func() bool {
		clitest.SendBytes(t, "right", talk(id, 40)...)
		id += uint16(all)
		rounds++
		return packetsIn(file("second")) >= share*rounds+all
	})
	peer(t, addresses[0], file("again"))
	wait.Until(t, "the share of the first peer again", func() bool {
		clitest.SendBytes(t, "right", talk(id, 40)...)
		id += uint16(all)
		return packetsIn(file("again")) > 0
	})
	s := r.stop()
	if got := s.Outputs[0].Packets + s.Outputs[0].Lost + s.Outputs[1].Packets + s.Outputs[1].Lost; got != s.PacketsOut {
		t.Errorf("%d packets of %d: %+v", got, s.PacketsOut, s.Outputs)
	}
}

// TestLiveBalanceFails takes one of two interfaces away. Its share is lost, or goes to the other
// until it is back.
func TestLiveBalanceFails(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"drop", "spread"} {
		t.Run(what, func(t *testing.T) {
			clitest.Lab(t)
			clitest.Pair(t, "left", "right")
			behind, files := sensors(t, 2)
			r := startLive(t, "-i", "left", "--forward", "out0", "--forward", "out1", "--balance", "conversation", "--on-failure", what, "--wait", "--json", "--window", "5s")
			clitest.SendBytes(t, "right", talk(1, 40)...)
			wait.Until(t, "the first packets", func() bool { return packetsIn(files[0])+packetsIn(files[1]) == 160 })
			before := packetsIn(files[1])
			clitest.IP(t, "link set out0 down")
			clitest.SendBytes(t, "right", talk(1001, 40)...) // which finds out
			r.Event("output failed")
			mayLose := uint64(160)
			if what == "spread" {
				clitest.SendBytes(t, "right", talk(2001, 40)...)
				wait.Until(t, "the share of the other", func() bool { return packetsIn(files[1]) >= 2*before+160 })
				clitest.IP(t, "link set out0 up")
				clitest.IP(t, "link set sensor0 up")
				clitest.AwaitLink(t, "out0")
				had := packetsIn(files[0])
				id := uint16(3001)
				wait.Until(t, "the share of the first again", func() bool {
					clitest.SendBytes(t, "right", talk(id, 40)...)
					id += 160
					return packetsIn(files[0]) > had
				})
			} else {
				clitest.SendBytes(t, "right", talk(2001, 40)...)
				wait.Until(t, "what is left", func() bool { return packetsIn(files[1]) == 3*before })
				mayLose += 160
			}
			r.signal(syscall.SIGTERM)
			r.Wait()
			s := r.summary(r.Stdout.Bytes())
			sent, lost := uint64(0), uint64(0)
			for _, f := range s.Forwards {
				sent += uint64(f["sent"].(float64))
				lost += uint64(f["lost"].(float64)) + uint64(f["refused"].(float64))
			}
			if sent+lost != s.PacketsOut || lost == 0 || lost > mayLose {
				t.Errorf("%d sent and %d lost of %d: %v", sent, lost, s.PacketsOut, s.Forwards)
			}
			for _, b := range behind {
				b.signal(syscall.SIGTERM)
				b.Wait()
			}
		})
	}
}
