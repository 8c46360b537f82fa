package live

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forbidNewPrivileges sets PR_SET_NO_NEW_PRIVS on all threads: no set-user-ID program and
// no file capability counts any more. It is an attribute of a thread, and Go sets such on
// all of them only where no C is linked in. The kernel does so with a filter of system
// calls that is for all threads, which here allows every call: see
// seccomp_sync_threads in its kernel/seccomp.c.
func forbidNewPrivileges() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("PR_SET_NO_NEW_PRIVS", err)
	}
	allow := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
	program := unix.SockFprog{Len: 1, Filter: &allow}
	// Nothing here is secret from itself, so processors need not slow down for it.
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
