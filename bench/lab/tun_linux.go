package lab

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Tun makes an interface whose packets have no link header, and takes it up: what is
// written to the file is received there. The interface goes with the file. An error says
// why this machine cannot do that.
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
