// SPDX-License-Identifier: Apache-2.0

package live

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/mirror"
	"github.com/flowdedup/flowdedup/capture/xdp"
)

// become drops all privileges and becomes another user. Leaving root removes every capability on
// all threads, and no program that they start can regain any.
func become(name string) error {
	to, err := lookupCredentials(name)
	if err != nil {
		return fmt.Errorf("--user %s: %w", name, err)
	}
	for _, step := range []func() error{
		func() error { return syscall.Setgroups(to.groups) },
		func() error { return syscall.Setgid(to.gid) },
		func() error { return syscall.Setuid(to.uid) },
		forbidNewPrivileges,
	} {
		if err := step(); errors.Is(err, syscall.EPERM) {
			return fmt.Errorf("--user %s: not permitted: start as root, or leave --user out and give the program only CAP_NET_RAW", name)
		} else if err != nil {
			return fmt.Errorf("--user %s: %w", name, err)
		}
	}
	return nil
}

// checkRights returns what the system would deny: becoming another user, AF_XDP, or GRE.
func checkRights(cfg *config) (err error) {
	if name := cfg.User; name != "" {
		_, err = lookupCredentials(name)
		if err == nil && !capable(unix.CAP_SETUID) {
			err = errors.New("not permitted")
		}
		if err != nil {
			err = fmt.Errorf("--user %s: %w", name, err)
		}
	}
	if cfg.XDP != nil && !(capable(unix.CAP_NET_ADMIN) && (capable(unix.CAP_BPF) || capable(unix.CAP_SYS_ADMIN))) {
		err = errors.Join(err, xdp.ErrNotPermitted)
	}
	for i := range cfg.Mirror.Targets {
		if cfg.Mirror.Targets[i].Raw() && !capable(unix.CAP_NET_RAW) {
			return errors.Join(err, mirror.ErrNotPermitted)
		}
	}
	return err
}

// capable reports whether a capability is effective (capabilities(7)).
func capable(capability int) bool {
	var sets [2]unix.CapUserData
	err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &sets[0])
	return err == nil && sets[capability/32].Effective>>(capability%32)&1 != 0
}

// credentials are the user, the group and the supplementary groups of a process, as
// numbers.
type credentials struct {
	uid, gid int
	groups   []int
}

// lookupCredentials resolves USER or USER:GROUP, each a name or a number. Without a group
// it takes all groups of the user. A number without a user name becomes its own group,
// because containers know few names.
func lookupCredentials(name string) (credentials, error) {
	person, group, both := strings.Cut(name, ":")
	id, err := lookupUser(person)
	if err != nil || !both {
		return id, err
	}
	if id.gid, err = number(group); err != nil {
		found, err := user.LookupGroup(group)
		if err != nil {
			return credentials{}, errors.New("there is no such group")
		}
		if id.gid, err = number(found.Gid); err != nil {
			return credentials{}, err
		}
	}
	id.groups = []int{id.gid}
	return id, nil
}

func lookupUser(name string) (credentials, error) {
	u, err := user.Lookup(name)
	if err != nil {
		n, err := number(name)
		if err != nil {
			return credentials{}, errors.New("there is no such user")
		}
		if u, err = user.LookupId(strconv.Itoa(n)); err != nil {
			return credentials{uid: n, gid: n, groups: []int{n}}, nil
		}
	}
	groups, err := u.GroupIds()
	if err != nil {
		return credentials{}, err
	}
	all, err := numbers(append([]string{u.Uid, u.Gid}, groups...))
	if err != nil {
		return credentials{}, err
	}
	return credentials{all[0], all[1], all[2:]}, nil
}

func numbers(texts []string) (all []int, err error) {
	for _, text := range texts {
		n, err := number(text)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// number reads the number of a user or group. It refuses 2^32-1, which system calls take
// for "unchanged".
func number(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err == nil && n == 1<<32-1 {
		err = strconv.ErrRange
	}
	return int(n), err
}

// forbidNewPrivileges sets PR_SET_NO_NEW_PRIVS on all threads, so that no set-user-ID
// program and no file capability counts any more. The attribute belongs to a thread, and
// Go sets such attributes on all threads only without cgo. The kernel sets it on all
// threads together with a seccomp filter, so this installs a filter that allows every call:
// see seccomp_sync_threads in kernel/seccomp.c.
func forbidNewPrivileges() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("PR_SET_NO_NEW_PRIVS", err)
	}
	allow := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
	program := unix.SockFprog{Len: 1, Filter: &allow}
	// SPEC_ALLOW keeps the processor at full speed: this process has no secrets from
	// itself.
	const flags = unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	switch {
	case errno != 0:
		return os.NewSyscallError("seccomp", errno)
	case thread != 0:
		return fmt.Errorf("seccomp: thread %d has another filter", thread)
	}
	return nil
}

// behindPackets makes the rest of the goroutine run on a thread of ordinary priority, which ends with
// the goroutine. So work of a run with real-time priority does not take the processor of its packets.
// Threads may always give up that priority; without it nothing changes.
func behindPackets() {
	runtime.LockOSThread()
	none := int32(0)
	_, _, _ = unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_NORMAL, uintptr(unsafe.Pointer(&none)))
}

// errLoop is wrapped by the error of forwarding in a circle.
var errLoop = errors.New("would capture again what it forwards")

// refuseForward returns an error if forwarded packets would show up at a captured
// interface, or if a captured interface has frames that cannot be sent.
func refuseForward(captured []string, to string) error {
	if to == "" {
		return nil
	}
	reached, err := afpacket.ReachedFrom(to)
	if err != nil {
		return err
	}
	for _, name := range captured {
		switch {
		case name == afpacket.Any || name == to:
			return fmt.Errorf("--forward %s: %w: -i %s includes it", to, errLoop, name)
		case reached[name]:
			return fmt.Errorf("--forward %s: %w: it is connected with -i %s", to, errLoop, name)
		}
		if link, err := afpacket.LinkTypeOf(name, false); err == nil && link != capture.LinkEthernet {
			return fmt.Errorf("--forward %s: %w: -i %s has link type %v, and only Ethernet can be sent", to, afpacket.ErrLinkType, name, link)
		}
	}
	return nil
}
