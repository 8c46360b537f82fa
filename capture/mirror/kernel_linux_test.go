// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/labtest"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
)

// TestERSPAN receives GRE of IPv4 and IPv6 as the kernel delivers it.
func TestERSPAN(t *testing.T) {
	enter(t)
	if err := allowIPv6("lo"); err != nil {
		t.Skip(err)
	}
	m := capturing(t, Config{Idle: time.Second}, "erspan://")
	for _, to := range []string{"127.0.0.1", "::1"} {
		network := "ip4:47"
		if strings.Contains(to, ":") {
			network = "ip6:47"
		}
		conn, err := net.Dial(network, to)
		if err != nil {
			t.Skip(err)
		}
		defer conn.Close()
		for _, head := range []string{erspanOne, erspanTwo, erspanThree, erspanPlatform, greEthernet, "\x00\x07"} {
			send(t, conn, append([]byte(head), frame(40, 0)...))
		}
	}
	all := readAll(t, m, 0)
	names := map[string]int{}
	for _, p := range all {
		names[p.iface]++
		if p.data != string(frame(40, 0)) {
			t.Errorf("%x", p.data)
		}
	}
	if names["erspan"] != 2 || names["erspan:42"] != 6 || names["gre:42"] != 2 || len(all) != 10 {
		t.Error(names)
	}
	if s := m.Stats()[0]; s.Malformed["header"] != 2 || s.Points != 3 || len(s.Sockets) != 2 {
		t.Errorf("%+v", s)
	}
}

// elsewhere runs functions in a second namespace, which is connected with the test's namespace
// by a pair of interfaces, left here and right there.
func elsewhere(t *testing.T) func(func() error) {
	t.Helper()
	jobs, results, threads := make(chan func() error), make(chan error), make(chan int)
	go func() {
		err := lab.Enter() // the thread ends with the goroutine
		threads <- unix.Gettid()
		if err == nil {
			err = lab.IP("link set lo up")
		}
		for do := range jobs {
			if err == nil {
				err = do()
			}
			results <- err
		}
	}()
	thread := <-threads
	t.Cleanup(func() { close(jobs) })
	labtest.IP(t, "link add left type veth peer name right")
	labtest.IP(t, fmt.Sprintf("link set right netns %d", thread))
	labtest.IP(t, "link set left up")
	return func(do func() error) {
		t.Helper()
		jobs <- do
		if err := <-results; err != nil {
			t.Fatal(err)
		}
	}
}

// allowIPv6 undoes for an interface what lab.Enter did for all.
func allowIPv6(name string) error {
	return os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", []byte("0"), 0)
}

// bringUp gives an interface of a pair an address. Its other end is being brought up.
func bringUp(name, address string) error {
	if err := lab.IP("link set " + name + " up"); err != nil {
		return err
	}
	if err := allowIPv6(name); err != nil {
		return err
	}
	if err := lab.AwaitLink(name); err != nil { // an address of IPv6 is of use on a link that runs
		return err
	}
	return lab.IP("addr add " + address + " dev " + name)
}

// TestKernelVXLAN takes what the kernel's own VXLAN interface sends, with a VLAN tag and over
// IPv6, too.
func TestKernelVXLAN(t *testing.T) {
	for _, c := range []struct{ here, there, bits string }{{"10.9.0.1", "10.9.0.2", "/24"}, {"fd09::1", "fd09::2", "/64 nodad"}} {
		t.Run(c.here, func(t *testing.T) {
			enter(t)
			if err := lab.IP("link add vx0 type vxlan id 77 dstport 9999"); err != nil {
				t.Skip("no VXLAN interfaces: ", err)
			}
			do := elsewhere(t)
			do(func() error { return bringUp("right", c.there+c.bits) })
			if err := bringUp("left", c.here+c.bits); err != nil {
				t.Fatal(err)
			}
			left, err := net.InterfaceByName("left")
			if err != nil {
				t.Fatal(err)
			}
			m := capturing(t, Config{Sockets: 2, Idle: 300 * time.Millisecond}, "vxlan://")
			var b capture.Batch
			b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
			want := map[string]bool{}
			for n := range 200 {
				f := frame(50+n, 0)
				binary.BigEndian.PutUint32(f[34:], uint32(n))
				if n%2 == 1 {
					f = append(f[:12:12], append([]byte("\x81\x00\x00\x05"), f[12:]...)...)
				}
				want[string(f)] = true
				b.Append(capture.Frame{}, f)
			}
			do(func() error {
				for _, arguments := range []string{
					"neigh add " + c.here + " lladdr " + left.HardwareAddr.String() + " dev right nud permanent",
					"link add vx0 type vxlan id 1234 dstport 4789 dev right remote " + c.here, "link set vx0 up",
				} {
					if err := lab.IP(arguments); err != nil {
						return err
					}
				}
				return nil
			})
			missing := len(want)
			var batch capture.Batch
			for deadline := time.Now().Add(wait.Timeout); missing > 0 && time.Now().Before(deadline); {
				// The kernel drops them until its routes are there.
				do(func() error { return sendFrom("vx0", &b) })
				for packets := true; packets; packets = len(batch.Frames) > 0 {
					if err := m.Next(&batch); err != nil {
						t.Fatal(err)
					}
					for _, p := range gotten(&batch) {
						if want[p.data] {
							missing--
						}
						want[p.data] = false
						if p.iface != "vxlan:1234" {
							t.Error(p.iface)
						}
					}
				}
			}
			if missing > 0 {
				t.Errorf("%d of %d packets are missing", missing, len(b.Frames))
			}
		})
	}
}

// sendFrom sends the packets of a batch out of an interface.
func sendFrom(name string, b *capture.Batch) error {
	s, err := afpacket.OpenSender(afpacket.SenderConfig{Interface: name})
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Send(b, nil)
}
