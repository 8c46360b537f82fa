// SPDX-License-Identifier: Apache-2.0

package pcapoverip

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// classic opens a sender of pcap at which peers connect.
func classic(t *testing.T, w *warned) *Sender {
	t.Helper()
	noGoroutines(t)
	s, err := OpenSender(context.Background(), address(t, "tcp-listen://:0?format=pcap"), SenderConfig{Live: true, Warn: w.warn})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// all reads a connection to its end.
func all(conn net.Conn) chan []byte {
	got := make(chan []byte, 1)
	go func() {
		data, _ := io.ReadAll(conn)
		got <- data
	}()
	return got
}

// packetsOf reads a classic pcap file.
func packetsOf(t *testing.T, data []byte) int {
	t.Helper()
	src, err := pcapfile.NewReader(bytes.NewReader(data), "peer", pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for {
		var b capture.Batch
		switch err := src.Next(&b); {
		case err == io.EOF:
			return n
		case err != nil:
			t.Fatal(err)
		}
		if f := b.Sections[0].Format; f != capture.FormatPcap {
			t.Fatalf("format %v", f)
		}
		n += len(b.Frames)
	}
}

// TestSendClassic gives each peer a whole pcap file, whenever it connects, and reports losses
// once. tcpdump and tshark read it, if installed.
func TestSendClassic(t *testing.T) {
	var w warned
	s := classic(t, &w)
	early := all(connect(t, s.listener.Addr()))
	awaitPeers(t, s, 1)
	b := packets(10, 61)
	if err := s.Write(b, []uint64{1}); err != nil {
		t.Fatal(err)
	}
	late := all(connect(t, s.listener.Addr()))
	awaitPeers(t, s, 2)
	for range 2 {
		b.Blocks = b.Blocks[:0]
		if err := s.Write(b, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole := <-early
	if magic := "\xd4\xc3\xb2\xa1"; !strings.HasPrefix(string(whole), magic) {
		t.Errorf("begins with % x", whole[:4])
	}
	if n, m := packetsOf(t, whole), packetsOf(t, <-late); n != 29 || m != 20 {
		t.Errorf("%d packets, the late one got %d", n, m)
	}
	if n := strings.Count(w.text(), pcapfile.ErrFormatLoss.Error()); n != 1 {
		t.Errorf("%d warnings: %s", n, w.text())
	}
	for _, reader := range [][]string{{"tcpdump", "-nr", "-"}, {"tshark", "-r", "-"}} {
		t.Run(reader[0], func(t *testing.T) {
			name, err := exec.LookPath(reader[0])
			if err != nil {
				t.Skip(err)
			}
			cmd := exec.Command(name, reader[1:]...)
			cmd.Stdin = bytes.NewReader(whole)
			if out, err := cmd.Output(); err != nil || packetLines(out) != 29 {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestSendClassicEmpty ends without a packet: no peer gets bytes of pcapng.
func TestSendClassicEmpty(t *testing.T) {
	var w warned
	s := classic(t, &w)
	got := all(connect(t, s.listener.Addr()))
	awaitPeers(t, s, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if data := <-got; len(data) != 0 || w.text() != "" {
		t.Errorf("% x, %s", data, w.text())
	}
}

// TestSendClassicLinks refuses packets of a second link type, whether it is known before the
// first packet or not.
func TestSendClassicLinks(t *testing.T) {
	for _, known := range []bool{false, true} {
		var w warned
		s := classic(t, &w)
		b := packets(1, 61)
		other := func() {
			at := b.AppendInterface(capture.Interface{LinkType: capture.LinkRaw, Name: "tun0"})
			b.Append(capture.Frame{Interface: at}, make([]byte, 61))
		}
		if known {
			other()
		} else {
			if err := s.Write(b, nil); err != nil {
				t.Fatal(err)
			}
			b.Reset()
			other()
		}
		if err := s.Write(b, nil); !errors.Is(err, capture.ErrNotSupported) {
			t.Errorf("known %v: %v", known, err)
		}
		_ = s.Close() // it says the same again
	}
}

// packetLines counts the lines of packets, without the lines of their bytes.
func packetLines(out []byte) (n int) {
	for line := range bytes.Lines(out) {
		if line[0] != '\t' {
			n++
		}
	}
	return n
}
