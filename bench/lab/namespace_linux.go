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
)

// Enter moves the calling goroutine, and what it starts, into a network namespace of its
// own that can hold pairs of interfaces. The thread ends with the goroutine, and the
// namespace with its last socket. The error says why this machine cannot do this.
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
	// Without this the kernel talks of itself on every new interface.
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

// Pair makes two interfaces: what goes into one comes out of the other. It returns when
// both are ready.
func Pair(left, right string) error {
	err := errors.Join(IP("link add "+left+" type veth peer name "+right), IP("link set "+left+" up"),
		IP("link set "+right+" up"), awaitCarrier(left), awaitCarrier(right))
	if err != nil {
		return err
	}
	// Frames get lost between the carrier and the queue that it brings, which this
	// waits for: the kernel changes one thing at a time.
	return IP("link set " + left + " up")
}

func awaitCarrier(name string) error {
	for deadline := time.Now().Add(Timeout); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		iface, err := net.InterfaceByName(name)
		if err != nil {
			return err
		}
		if iface.Flags&net.FlagRunning != 0 {
			return nil
		}
	}
	return fmt.Errorf("%s does not run", name)
}

// IP runs ip(8).
func IP(arguments string) error {
	out, err := exec.Command("ip", strings.Fields(arguments)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", arguments, err, out)
	}
	return nil
}

// Tun makes an interface whose packets have no link header, and brings it up. It receives
// what is written to the file, and ends with the file. The error says why this machine
// cannot do this.
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
