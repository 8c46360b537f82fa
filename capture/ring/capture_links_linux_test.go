package ring

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
)

// portFilters let UDP packets to port 53 through, over IPv4 headers without options, on
// Ethernet and without a link header.
func portFilters() map[capture.LinkType][]bpf.RawInstruction {
	all := map[capture.LinkType][]bpf.RawInstruction{}
	for link, header := range map[capture.LinkType]uint32{capture.LinkEthernet: etherLen, capture.LinkRaw: 0} {
		all[link] = []bpf.RawInstruction{
			{Op: 0x30, K: header}, {Op: 0x15, Jf: 5, K: 0x45},
			{Op: 0x30, K: header + 9}, {Op: 0x15, Jf: 3, K: unix.IPPROTO_UDP},
			{Op: 0x28, K: header + 22}, {Op: 0x15, Jf: 1, K: 53},
			{Op: 0x06, K: 262144}, {Op: 0x06, K: 0},
		}
	}
	return all
}

// TestFilterOfEachLink captures from interfaces of two link types, each with the program
// of its own.
func TestFilterOfEachLink(t *testing.T) {
	enterLab(t)
	tun := openTun(t, "tun0")
	src := open(t, Config{Interfaces: []string{"right", "tun0"}, Filters: portFilters()})
	wanted, other := flows(1)[0], flows(1)[0]
	other[etherLen+23]++ // the last byte of the port
	send(t, openSender(t, "left"), other, wanted)
	for _, f := range [][]byte{other, wanted} {
		if _, err := tun.Write(f[etherLen:]); err != nil {
			t.Fatal(err)
		}
	}
	got := rest(t, src)
	var frames [2][][]byte
	for i, f := range got.all {
		frames[f.Interface] = append(frames[f.Interface], got.frames[i])
	}
	compare(t, frames[0], [][]byte{wanted})
	compare(t, frames[1], [][]byte{wanted[etherLen:]})
}

// TestLinkChanges ends with an interface that comes back with another link type, be it
// the same one or another of its name, and delivers nothing of that.
func TestLinkChanges(t *testing.T) {
	packet := flows(1)[0]
	for what, change := range map[string]func(tun *os.File){
		"the same": func(tun *os.File) {
			ip(t, "link set tun0 down")
			if err := unix.IoctlSetInt(int(tun.Fd()), unix.TUNSETLINK, unix.ARPHRD_IEEE80211_RADIOTAP); err != nil {
				t.Fatal(err)
			}
			ip(t, "link set tun0 up")
			if _, err := tun.Write(packet[etherLen:]); err != nil {
				t.Fatal(err)
			}
		},
		"another": func(tun *os.File) {
			if err := tun.Close(); err != nil {
				t.Fatal(err)
			}
			makePair(t, "left", "tun0")
			send(t, openSender(t, "left"), packet)
		},
	} {
		enterEmptyLab(t)
		tun := openTun(t, "tun0")
		src := open(t, Config{Interfaces: []string{"tun0"}, Wait: true})
		if _, err := tun.Write(packet[etherLen:]); err != nil {
			t.Fatal(err)
		}
		compare(t, take(t, src, 1).frames, [][]byte{packet[etherLen:]})
		change(tun)
		time.Sleep(50 * time.Millisecond) // for the packet to be there
		got := take(t, src, -1)
		if !errors.Is(got.err, ErrLinkChanged) || len(got.frames) != 0 {
			t.Errorf("%s: %v after %d frames", what, got.err, len(got.frames))
		}
	}
}
