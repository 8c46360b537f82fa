// Package commands is the command line of flowdedup: its commands below one root.
package commands
