// SPDX-License-Identifier: Apache-2.0

package afpacket

import "golang.org/x/sys/unix"

// StampsInHardware reports whether the network card of an interface gives all packets that
// it receives a time (SIOCGHWTSTAMP, as hwtstamp_ctl sets it; Linux,
// Documentation/networking/timestamping.rst). Only then has Config.HardwareTime an effect.
// Where the kernel does not say, it reports false.
func StampsInHardware(name string) bool {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	stamping, err := unix.IoctlGetHwTstamp(fd, name)
	return err == nil && stamping.Rx_filter == unix.HWTSTAMP_FILTER_ALL
}
