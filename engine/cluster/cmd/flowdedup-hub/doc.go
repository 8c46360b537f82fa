// SPDX-License-Identifier: Apache-2.0

// Command flowdedup-hub reports to sensors which packets another site has sent before.
// The page cmd/flowdedup/doc/hub.md of the manual describes it. Package cluster/hub is the hub
// itself; here are the commands that start it, change its folder and show it.
//
//	question                                    file
//	the commands; exit codes                    main.go
//	flags of the hub; --filter, --slices, ...   flags.go; shape.go, tolerate.go
//	a hub below another hub                    parent.go
//	the run of a hub, and what it serves        serve.go
//	tokens of sites and hubs; saved counts      tokens.go; counts.go
//	the status as text; its columns             status.go; fit.go
//	the status as a page; as metrics            page.go, history.go; metrics.go
package main
