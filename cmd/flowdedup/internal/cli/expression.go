package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// expressionWords are those of pcap-filter(7) that an expression begins with.
var expressionWords = []string{
	"arp", "broadcast", "decnet", "dst", "ether", "gateway", "geneve", "greater", "host", "icmp", "icmp6", "igmp", "inbound",
	"ip", "ip6", "less", "link", "mpls", "multicast", "net", "not", "outbound", "port", "portrange", "ppp", "pppoed", "pppoes",
	"proto", "rarp", "sctp", "src", "tcp", "udp", "vlan", "vxlan", "wlan",
}

// looksLikeExpression reports whether a text begins as an expression does.
func looksLikeExpression(text string) bool {
	word := strings.TrimLeft(text, "!( ")
	if at := strings.IndexAny(word, " [()&|=!<>"); at >= 0 {
		word = word[:at]
	}
	return slices.Contains(expressionWords, word)
}

// checkExpression refuses inputs that are no files but an expression, which other
// programs take there.
func checkExpression(args []string) error {
	missing := func(name string) bool {
		_, err := os.Stat(name)
		return name != "-" && err != nil
	}
	from := slices.IndexFunc(args, func(a string) bool { return looksLikeExpression(a) && missing(a) })
	if from < 0 {
		return nil
	}
	to := from + 1
	for to < len(args) && missing(args[to]) {
		to++
	}
	return &usageError{fmt.Errorf("there is no file %s; did you mean --filter '%s'?", args[from], strings.Join(args[from:to], " "))}
}

// takeExpression has the arguments of live be the filter, as those of tcpdump are.
func (f *filterFlags) takeExpression(cmd *cobra.Command, args []string) error {
	expression := strings.TrimSpace(strings.Join(args, " "))
	if expression == "" {
		return nil
	}
	for _, flag := range []string{"filter", "bpf-file"} {
		if cmd.Flags().Changed(flag) {
			return &usageError{errors.New("an expression as arguments and --" + flag + " exclude each other")}
		}
	}
	f.wanted.Expr = expression
	return nil
}

// completeExpression lets the shell complete the first words of expressions.
func completeExpression(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return filterWords, cobra.ShellCompDirectiveNoFileComp
}
