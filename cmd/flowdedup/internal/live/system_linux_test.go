// SPDX-License-Identifier: Apache-2.0

package live

import (
	"errors"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestBehindPackets gives up the real-time priority of a thread.
func TestBehindPackets(t *testing.T) {
	runtime.LockOSThread() // and the thread ends with the test
	const fifo = 1
	priority := int32(1)
	if _, _, err := unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, 0, fifo, uintptr(unsafe.Pointer(&priority))); err != 0 {
		t.Skip("needs real-time priority: ", err)
	}
	behindPackets()
	if policy, _, err := unix.RawSyscall(unix.SYS_SCHED_GETSCHEDULER, 0, 0, 0); policy != unix.SCHED_NORMAL || err != 0 {
		t.Errorf("policy %d, %v", policy, err)
	}
}

// TestLookUp resolves users by name and by number, and numbers without a name. Every
// system has root and nobody.
func TestLookUp(t *testing.T) {
	for name, want := range map[string][2]uint32{
		"root:root": {0, 0}, "0:0": {0, 0}, "root:4242": {0, 4242}, "1000:1001": {1000, 1001},
		"4000000001": {4000000001, 4000000001}, "4294967294:0": {4294967294, 0},
	} {
		got, err := lookupCredentials(name)
		if err != nil || uint32(got.uid) != want[0] || uint32(got.gid) != want[1] || !slices.Equal(got.groups, []int{got.gid}) {
			t.Errorf("%s: %+v, %v; want %d", name, got, err, want)
		}
	}
	named, err := lookupCredentials("nobody")
	if err != nil {
		t.Skip("no such user: ", err)
	}
	if numbered, err := lookupCredentials("65534"); err != nil || named.uid != 65534 || numbered.gid != named.gid || !slices.Equal(numbered.groups, named.groups) {
		t.Errorf("%+v, %v; by name %+v", numbered, err, named)
	}
	for name, want := range map[string]string{
		"nobody-at-all": "there is no such user", ":0": "there is no such user", "-1": "there is no such user", "4294967295": "there is no such user",
		"4294967296": "there is no such user", "1.5": "there is no such user",
		"root:": "there is no such group", "root:nobody-at-all": "there is no such group", "0:4294967295": "there is no such group", "0:0:0": "there is no such group",
	} {
		if got, err := lookupCredentials(name); err == nil || err.Error() != want {
			t.Errorf("%s: %+v, %v; want %s", name, got, err, want)
		}
	}
}

// TestRefuseForward checks names, and what the kernel says about connected interfaces.
func TestRefuseForward(t *testing.T) {
	for _, c := range []struct {
		captured []string
		to       string
		refused  bool
	}{
		{[]string{"lo"}, "", false}, {[]string{"any"}, "", false}, {[]string{"nope"}, "lo", false},
		{[]string{"nope", "lo"}, "lo", true}, {[]string{"any"}, "lo", true}, {[]string{"nope"}, "nope", true},
	} {
		if err := refuseForward(c.captured, c.to); errors.Is(err, errLoop) != c.refused || err != nil && !c.refused {
			t.Errorf("-i %q --forward %q: %v", c.captured, c.to, err)
		}
	}
}
