// SPDX-License-Identifier: Apache-2.0

package sockets

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// ethtool asks the driver of an interface (SIOCETHTOOL, linux/ethtool.h). The question and the answer
// are words of 32 bits; the first is the command.
func ethtool(fd int, name string, words []uint32) bool {
	request := struct { // struct ifreq
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [24 - unsafe.Sizeof(uintptr(0))]byte
	}{data: unsafe.Pointer(&words[0])}
	copy(request.name[:unix.IFNAMSIZ-1], name)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	return errno == 0
}

// askDriver sets what only the driver knows. What it does not say stays 0.
func (d *Device) askDriver(fd int) {
	const receiveTags = 1 << 8 // ETH_FLAG_RXVLAN
	flags := []uint32{unix.ETHTOOL_GFLAGS, 0}
	d.HidesTags = ethtool(fd, d.Name, flags) && flags[1]&receiveTags != 0
	const receive, combined = 5, 8 // of struct ethtool_channels
	channels := []uint32{unix.ETHTOOL_GCHANNELS, 8: 0}
	if ethtool(fd, d.Name, channels) {
		d.Queues = int(channels[receive] + channels[combined])
	}
	if info, err := unix.IoctlGetEthtoolDrvinfo(fd, d.Name); err == nil {
		d.Driver = unix.ByteSliceToString(info.Driver[:])
	}
}

// driverCounters finds the counters of a driver.
type driverCounters struct {
	number int // how many the driver has
	at     [len(cardCounters)]int
	some   bool // it has any of cardCounters
	values []uint32
}

// more is room for counters that a driver gets between two questions, as with more queues: the
// kernel writes all that there are then.
const more = 16 << 10

// read reads the counters of an interface that only its driver has.
func (c *driverCounters) read(fd int, name string, counts *CardCounts) {
	info, err := unix.IoctlGetEthtoolDrvinfo(fd, name)
	if err != nil {
		return
	}
	if number := int(info.N_stats); number != c.number { // also after queues came
		c.find(fd, name, number)
	}
	if !c.some {
		return
	}
	c.values[0], c.values[1] = unix.ETHTOOL_GSTATS, uint32(c.number)
	if !ethtool(fd, name, c.values) || int(c.values[1]) != c.number {
		return
	}
	for i := ofDrivers; i < len(cardCounters); i++ {
		if at := c.at[i]; at > 0 {
			counts[i] = *(*uint64)(unsafe.Pointer(&c.values[at]))
		}
	}
}

// find looks for cardCounters among the names of the driver's counters.
func (c *driverCounters) find(fd int, name string, number int) {
	const statistics, nameBytes = 1, 32 // ETH_SS_STATS, ETH_GSTRING_LEN
	*c = driverCounters{number: number}
	words := make([]uint32, 3+nameBytes/4*(number+more))
	words[0], words[1], words[2] = unix.ETHTOOL_GSTRINGS, statistics, uint32(number)
	if !ethtool(fd, name, words) {
		return
	}
	names := unsafe.Slice((*byte)(unsafe.Pointer(&words[3])), nameBytes*min(number, int(words[2])))
	for at := 0; at < len(names); at += nameBytes {
		found := unix.ByteSliceToString(names[at : at+nameBytes])
		for i := ofDrivers; i < len(cardCounters); i++ {
			if cardCounters[i].name == found {
				c.at[i], c.some = 2+2*at/nameBytes, true
			}
		}
	}
	if c.some {
		c.values = make([]uint32, 2+2*(number+more))
	}
}
