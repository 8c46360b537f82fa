package lab

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// probe names the variable that makes a program which holds this package load an XDP
// program and end.
const probe = "FLOWDEDUP_LAB_PROBE"

func init() {
	if os.Getenv(probe) == "" {
		return
	}
	if err := load(); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

func load() error {
	counter, err := makeCounter()
	if err != nil {
		return err
	}
	fd, err := loadProgram(unix.BPF_PROG_TYPE_XDP, program(counter))
	if err != nil {
		return err
	}
	return errors.Join(unix.Close(fd), unix.Close(counter))
}

// loads tells why the kernel loads no programs. One whose memory for them is at odds
// with itself neither does that nor ends who asked for it: so that is found out by a
// process that is left behind then.
var loads = sync.OnceValue(func() error {
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), probe+"=1")
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return errors.New("the kernel loads no XDP programs")
		}
		return nil
	case <-time.After(10 * time.Second):
		return errors.New("the kernel hangs when it shall load an XDP program")
	}
})
