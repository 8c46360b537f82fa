//go:build !linux

package cli

// asLimited runs main without limits.
func asLimited(main func() int) int { return main() }
