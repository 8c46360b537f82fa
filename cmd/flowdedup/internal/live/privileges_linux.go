package live

import (
	"errors"
	"fmt"
	"os/user"
	"strconv"
	"syscall"
)

// become gives up all privileges for those of a user, unless the name is empty. Going
// from root to another user takes every capability away, on all threads.
func become(name string) error {
	if name == "" {
		return nil
	}
	uid, gid, groups, err := lookUp(name)
	if err != nil {
		return fmt.Errorf("--user %s: %w", name, err)
	}
	for _, step := range []func() error{
		func() error { return syscall.Setgroups(groups) },
		func() error { return syscall.Setgid(gid) },
		func() error { return syscall.Setuid(uid) },
	} {
		if err := step(); errors.Is(err, syscall.EPERM) {
			return fmt.Errorf("--user %s: not permitted: start as root, or leave --user out and give the program CAP_NET_RAW alone", name)
		} else if err != nil {
			return fmt.Errorf("--user %s: %w", name, err)
		}
	}
	return nil
}

// lookUp returns the numbers of a user and of all its groups.
func lookUp(name string) (uid, gid int, groups []int, err error) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, 0, nil, errors.New("there is no such user")
	}
	ids, err := u.GroupIds()
	if err != nil {
		return 0, 0, nil, err
	}
	if groups, err = numbers(ids...); err != nil {
		return 0, 0, nil, err
	}
	both, err := numbers(u.Uid, u.Gid)
	if err != nil {
		return 0, 0, nil, err
	}
	return both[0], both[1], groups, nil
}

func numbers(texts ...string) (all []int, err error) {
	for _, text := range texts {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}
