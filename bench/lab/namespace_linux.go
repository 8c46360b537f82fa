// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
)

// Enter moves the calling goroutine, and everything that it starts, into a new network
// namespace that can hold pairs of interfaces. The thread ends with the goroutine, and
// the namespace with its last socket. The error says why this machine cannot do this.
func Enter() error {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("no network namespace: %w", err)
	}
	return Prepare()
}

// Prepare makes the new network namespace of the calling thread ready for pairs of
// interfaces.
func Prepare() error {
	// Without this the kernel sends packets on every new interface by itself.
	for _, which := range []string{"all", "default"} {
		err := os.WriteFile("/proc/sys/net/ipv6/conf/"+which+"/disable_ipv6", []byte("1"), 0)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("no setting in the namespace: %w", err)
		}
	}
	if err := IP("link add type veth"); err != nil {
		return fmt.Errorf("no pair of interfaces: %w", err)
	}
	return IP("link del veth0")
}

// Pair makes two interfaces: packets that enter one leave the other. It returns when both
// are ready.
func Pair(left, right string) error {
	err := errors.Join(IP("link add "+left+" type veth peer name "+right), IP("link set "+left+" up"), IP("link set "+right+" up"))
	if err != nil {
		return err
	}
	if err := errors.Join(AwaitLink(left), AwaitLink(right)); err != nil {
		return err
	}
	// Frames get lost between the carrier and the queue that it brings, which this
	// waits for: the kernel changes one thing at a time.
	return IP("link set " + left + " up")
}

// AwaitLink waits until an interface carries packets.
func AwaitLink(name string) error {
	var err error
	running := wait.For(func() bool {
		var i *net.Interface
		i, err = net.InterfaceByName(name)
		return err == nil && i.Flags&net.FlagRunning != 0
	})
	if err == nil && !running {
		err = fmt.Errorf("%s does not run", name)
	}
	return err
}

// IP runs ip(8).
func IP(arguments string) error {
	out, err := exec.Command("ip", strings.Fields(arguments)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", arguments, err, out)
	}
	return nil
}

// ReceiveOffload lets the driver of one end of a pair receive frames that XDP sends: veth drops
// them without it, or an XDP program.
func ReceiveOffload(name string) error {
	if out, err := exec.Command("ethtool", "-K", name, "gro", "on").CombinedOutput(); err != nil {
		return fmt.Errorf("ethtool: %w: %s", err, out)
	}
	return nil
}

// Tun makes an interface whose packets have no link header, and brings it up. It receives
// the packets written to the file, and ends with the file. The error says why this
// machine cannot do this.
func Tun(name string) (*os.File, error) {
	tun, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := attachTun(tun, name); err != nil {
		return nil, errors.Join(fmt.Errorf("no tun interface: %w", err), tun.Close())
	}
	return tun, nil
}

func attachTun(tun *os.File, name string) error {
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(int(tun.Fd()), unix.TUNSETIFF, request); err != nil {
		return os.NewSyscallError("TUNSETIFF", err)
	}
	return IP("link set " + name + " up")
}

// ticks is longer than two ticks of the kernel's clock.
const ticks = 25 * time.Millisecond

// Settle waits until the kernel has delivered all packets sent before. On a busy
// processor it puts off a part: frames wait in the processor's backlog, or in the queue
// of a pair until the next tick.
func Settle() {
	const column = 11 // of the backlog, in hexadecimal digits
	empty := map[int]bool{}
	wait.For(func() bool {
		text, _ := os.ReadFile("/proc/thread-self/net/softnet_stat") // without it, ticks have to do
		all := true
		for processor, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			if words := strings.Fields(line); len(words) <= column || strings.Trim(words[column], "0") == "" {
				empty[processor] = true
			}
			all = all && empty[processor]
		}
		return all
	})
	time.Sleep(ticks)
}
