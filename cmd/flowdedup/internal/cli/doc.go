// Package cli is the command line: commands, flags, help, exit codes and signals.
// Commands check what the user wrote, and pass it on.
package cli
