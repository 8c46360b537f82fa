package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/bpf"
)

// filterFlags say which packets are wanted.
type filterFlags struct {
	file   string
	wanted bpf.Filter // complete once load was called
}

// filterWords begin expressions.
var filterWords = []string{"ip", "ip6", "tcp", "udp", "icmp", "arp", "vlan", "host", "net", "port", "not"}

func (f *filterFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.wanted.Expr, "filter", "", "take only the packets that match `EXPR`, as with tcpdump: 'tcp port 443'")
	fs.StringVar(&f.file, "bpf-file", "", "take only those that the program in `FILE` accepts: what tcpdump -ddd prints")
	groupInput.add(fs, "filter", "bpf-file")
}

// files lists the file that is read, if one is named.
func (f *filterFlags) files() []string {
	if f.file == "" {
		return nil
	}
	return []string{f.file}
}

// load reads the file.
func (f *filterFlags) load() error {
	if f.file == "" {
		return nil
	}
	if f.wanted.Expr != "" {
		return &usageError{errors.New("--filter and --bpf-file exclude each other")}
	}
	file, err := os.Open(f.file)
	if err != nil {
		return fmt.Errorf("--bpf-file: %w", err)
	}
	defer file.Close()
	f.wanted.Program, err = bpf.Parse(file)
	if errors.Is(err, bpf.ErrProgram) {
		return &usageError{fmt.Errorf("--bpf-file %s: %w", f.file, err)}
	}
	if err != nil {
		return fmt.Errorf("--bpf-file: %w", err)
	}
	return nil
}
