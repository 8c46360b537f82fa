// SPDX-License-Identifier: Apache-2.0

package gopackets_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/gopacket"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/gopackets"
	"github.com/flowdedup/flowdedup/engine/window"
)

// TestOnce gives out the packets that stay in a file, as the handle has them.
func TestOnce(t *testing.T) {
	for _, name := range []string{"router-plain.pcapng", "router-vlan.pcapng", "router-snap96.pcapng", "loopback-twice.pcap", "loopback.pcap"} {
		want, copies := kept(t, open(t, pcaps+name))
		for way, of := range ways {
			for _, ahead := range []int{0, 1, 7, 10_000} {
				for _, lent := range []bool{false, true} {
					once := gopackets.Once(of(open(t, pcaps+name)), gopackets.Config{Ahead: ahead})
					got, err := readAll(once, lent)
					read, dropped := once.Counts()
					if err != io.EOF || !reflect.DeepEqual(got, want) || read != uint64(len(want)+copies) || dropped != uint64(copies) {
						t.Errorf("%s, %s, %d ahead, lent %v: %d packets of %d, %v", name, way, ahead, lent, len(got), len(want), err)
					}
					if err := once.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
}

// TestOnceData does not change data that was returned before.
func TestOnceData(t *testing.T) {
	for way, of := range ways {
		once := gopackets.Once(of(open(t, pcaps+"router-plain.pcapng")), gopackets.Config{Ahead: 5})
		var all [][]byte
		var was []string
		for {
			data, _, err := once.ReadPacketData()
			if err != nil {
				break
			}
			all, was = append(all, data), append(was, string(data))
		}
		for i := range all {
			if string(all[i]) != was[i] {
				t.Fatalf("%s: packet %d has changed", way, i)
			}
		}
	}
}

// TestNoWait gives packets out before others have come.
func TestNoWait(t *testing.T) {
	handle := make(slow, 1)
	src := gopackets.NewSource(handle, gopackets.SourceConfig{})
	var b capture.Batch
	for range 5 {
		handle <- []byte("packet")
		if err := src.Next(&b); err != nil || len(b.Frames) != 1 {
			t.Fatalf("%d packets, %v", len(b.Frames), err)
		}
	}
	close(handle)
	if err := src.Next(&b); err != io.EOF {
		t.Error(err)
	}
	for _, ahead := range []int{0, 100} {
		handle := make(slow, 1)
		once := gopackets.Once(handle, gopackets.Config{Ahead: ahead})
		for i := range 5 {
			handle <- []byte{byte(i)}
			if data, _, err := once.ReadPacketData(); err != nil || data[0] != byte(i) {
				t.Fatal(data, err)
			}
		}
		close(handle)
	}
}

// TestClose ends a call that waits for a handle, and reading ahead.
func TestClose(t *testing.T) {
	handle := make(slow)
	defer close(handle)
	src := gopackets.NewSource(handle, gopackets.SourceConfig{})
	ended := make(chan error)
	go func() {
		var b capture.Batch
		ended <- src.Next(&b)
	}()
	if err := src.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	for _, ahead := range []int{0, 10} {
		n := int64(0)
		once := gopackets.Once(repeated{[]byte("x"), &n}, gopackets.Config{Ahead: ahead})
		if _, _, err := once.ReadPacketData(); err != nil {
			t.Error(err)
		}
		if err := once.Close(); err != nil {
			t.Error(err)
		}
		if _, _, err := once.ReadPacketData(); !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	}
}

// TestOnceErrors hands errors on at their place among the packets, and reads on.
func TestOnceErrors(t *testing.T) {
	for _, ahead := range []int{0, 1, 2, 100} {
		s := script{errIdle, []byte("a"), []byte("b"), errIdle, errBroken, []byte("c")}
		once := gopackets.Once(&s, gopackets.Config{Ahead: ahead})
		var got []string
		for range 8 {
			data, _, err := once.ReadPacketData()
			if err != nil {
				got = append(got, err.Error())
			} else {
				got = append(got, string(data))
			}
		}
		if want := []string{"timeout expired", "a", "b", "timeout expired", "broken", "c", "EOF", "EOF"}; !slices.Equal(got, want) {
			t.Errorf("%d ahead: %v", ahead, got)
		}
	}
}

// TestOnceDetector judges by a detector of the caller's.
func TestOnceDetector(t *testing.T) {
	detector, err := dedup.New(dedup.Config{Window: window.Window{Duration: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	defer detector.Close()
	frame := bytes.Repeat([]byte("x"), 60)
	s := script{
		gopacket.CaptureInfo{Timestamp: time.Unix(1, 0)}, frame,
		gopacket.CaptureInfo{Timestamp: time.Unix(50, 0)}, frame,
		gopacket.CaptureInfo{Timestamp: time.Unix(62, 0)}, frame,
	}
	once := gopackets.Once(&s, gopackets.Config{Detector: detector})
	got, err := readAll(once, false)
	if err != io.EOF || len(got) != 2 || got[1].info.Timestamp != time.Unix(62, 0) {
		t.Errorf("%v, %v", got, err)
	}
	if err := once.Close(); err != nil {
		t.Error(err)
	}
}

// TestOnceAllocations reads packets without copies, and without memory for each.
func TestOnceAllocations(t *testing.T) {
	src := repeated{make([]byte, 100), new(int64)}
	for _, ahead := range []int{0, 64} {
		once := gopackets.Once(src, gopackets.Config{Ahead: ahead})
		read := func() {
			for range 100 {
				if _, _, err := once.ZeroCopyReadPacketData(); err != nil {
					t.Fatal(err)
				}
			}
		}
		read()
		if n := testing.AllocsPerRun(10, read); n != 0 {
			t.Errorf("%d ahead: %v allocations", ahead, n)
		}
	}
}
