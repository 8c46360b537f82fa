// SPDX-License-Identifier: Apache-2.0

package gopackets_test

import (
	"io"
	"slices"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/gopackets"
	"github.com/flowdedup/flowdedup/engine/window"
)

// limited is a live handle that ends after some packets.
type limited struct {
	*pcapgo.EthernetHandle
	left int
}

func (l *limited) ReadPacketData() ([]byte, gopacket.CaptureInfo, error) {
	if l.left--; l.left < 0 {
		return nil, gopacket.CaptureInfo{}, io.EOF
	}
	return l.EthernetHandle.ReadPacketData()
}

func (l *limited) ZeroCopyReadPacketData() ([]byte, gopacket.CaptureInfo, error) {
	if l.left--; l.left < 0 {
		return nil, gopacket.CaptureInfo{}, io.EOF
	}
	return l.EthernetHandle.ZeroCopyReadPacketData()
}

// wire is a pair of interfaces of a network namespace of the test's own: a sender at one end,
// a handle of pcapgo at the other that ends after this number of packets.
func wire(t *testing.T, packets int) (*afpacket.Sender, *limited) {
	t.Helper()
	labtest.Enter(t)
	labtest.Pair(t, "left", "right")
	handle, err := pcapgo.NewEthernetHandle("right")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(handle.Close)
	sender, err := afpacket.OpenSender(afpacket.SenderConfig{Interface: "left", Queue: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sender.Close() })
	return sender, &limited{handle, packets}
}

// twice returns different frames, each followed by its copy.
func twice(frames int) *capture.Batch {
	var b capture.Batch
	at := b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	frame := lab.NewFrame(100)
	for i := range frames {
		lab.Renumber(frame, uint64(i))
		b.Append(capture.Frame{Interface: at}, frame)
		b.Append(capture.Frame{Interface: at}, frame)
	}
	return &b
}

// TestLiveOnce gives out each packet of an interface once, as it comes: each is sent when
// the packet before has arrived.
func TestLiveOnce(t *testing.T) {
	for _, ahead := range []int{0, 100} {
		const frames = 50
		sender, handle := wire(t, 2*frames)
		sent := twice(frames)
		// A busy machine takes its time between a packet and its copy.
		detector, err := dedup.New(dedup.Config{Window: window.Window{Duration: time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		defer detector.Close()
		once := gopackets.Once(handle, gopackets.Config{Detector: detector, Ahead: ahead})
		packets := gopacket.NewPacketSource(once, layers.LinkTypeEthernet)
		for i := range frames {
			pair := *sent
			pair.Frames = sent.Frames[2*i : 2*i+2]
			if err := sender.Send(&pair, nil); err != nil {
				t.Fatal(err)
			}
			packet, err := packets.NextPacket()
			if err != nil || !slices.Equal(packet.Data(), sent.Data(2*i)) {
				t.Fatalf("packet %d: %v, %v", i, packet, err)
			}
			if info := packet.Metadata(); info.Timestamp.IsZero() || info.Length != 100 || info.InterfaceIndex == 0 {
				t.Errorf("packet %d: %+v", i, info)
			}
		}
		if packet, err := packets.NextPacket(); err != io.EOF {
			t.Errorf("%v, %v", packet, err)
		}
	}
}

// TestLiveSource captures all sent packets, whole and in order.
func TestLiveSource(t *testing.T) {
	const frames = 50 // and their copies: as many as the buffer of the socket holds
	sender, handle := wire(t, 2*frames)
	if err := handle.SetCaptureLength(64); err != nil {
		t.Fatal(err)
	}
	sent := twice(frames)
	if err := sender.Send(sent, nil); err != nil {
		t.Fatal(err)
	}
	all, err := drain(gopackets.NewSource(handle, gopackets.SourceConfig{}))
	if err != io.EOF || len(all) != len(sent.Frames) {
		t.Fatalf("%d packets, %v", len(all), err)
	}
	for i, p := range all {
		if p.data != string(sent.Data(i)[:64]) || p.wire != 100 || p.link != capture.LinkEthernet || p.time == capture.NoTime {
			t.Fatalf("packet %d: %+v", i, p)
		}
	}
}
