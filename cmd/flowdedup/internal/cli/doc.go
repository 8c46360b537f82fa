// Package cli is the command line: commands, flags, their help, exit codes and
// signals. Commands only check what the user wrote and hand it on.
package cli
