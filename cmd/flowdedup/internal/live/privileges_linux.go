package live

import (
	"errors"
	"fmt"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// become gives up all privileges for those of a user, unless the name is empty. Going
// from root to another user takes every capability away, on all threads, and no program
// that they start can give any back.
func become(name string) error {
	if name == "" {
		return nil
	}
	to, err := lookUp(name)
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
			return fmt.Errorf("--user %s: not permitted: start as root, or leave --user out and give the program CAP_NET_RAW alone", name)
		} else if err != nil {
			return fmt.Errorf("--user %s: %w", name, err)
		}
	}
	return nil
}

// identity is who a process may be: numbers of a user, its group, and further groups.
type identity struct {
	uid, gid int
	groups   []int
}

// lookUp returns who is meant by USER or USER:GROUP, each a name or a number. Without a
// group there are all that the user is in. A number that nobody has a name for is its
// own group then: containers know few names.
func lookUp(name string) (identity, error) {
	person, group, both := strings.Cut(name, ":")
	id, err := lookUpUser(person)
	if err != nil || !both {
		return id, err
	}
	if id.gid, err = number(group); err != nil {
		found, err := user.LookupGroup(group)
		if err != nil {
			return identity{}, errors.New("there is no such group")
		}
		if id.gid, err = number(found.Gid); err != nil {
			return identity{}, err
		}
	}
	id.groups = []int{id.gid}
	return id, nil
}

func lookUpUser(name string) (identity, error) {
	u, err := user.Lookup(name)
	if err != nil {
		n, err := number(name)
		if err != nil {
			return identity{}, errors.New("there is no such user")
		}
		if u, err = user.LookupId(strconv.Itoa(n)); err != nil {
			return identity{uid: n, gid: n, groups: []int{n}}, nil
		}
	}
	groups, err := u.GroupIds()
	if err != nil {
		return identity{}, err
	}
	all, err := numbers(append([]string{u.Uid, u.Gid}, groups...))
	if err != nil {
		return identity{}, err
	}
	return identity{all[0], all[1], all[2:]}, nil
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

// number reads the number of a user or group. The last one of 32 bits would change
// nothing.
func number(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err == nil && n == 1<<32-1 {
		err = strconv.ErrRange
	}
	return int(n), err
}
