// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"slices"
	"strings"
)

// product is a program of a release, with its files.
type product struct {
	name   string // of the program, its packages, images and archives
	module string // folder of its module
	folder string // of its main package, in that module
	most   int64  // bytes that the program may have
	// systems are the operating systems that it runs on.
	systems []string

	// summary and about describe packages and images.
	summary, about string
	documentation  string
	examples       map[string]string // files of contrib, by their names among the examples
	// suggests are packages that it can use, in a deb and in an rpm.
	suggests map[string][]string
	extcap   bool     // it is a program of Wireshark, too
	config   string   // folder of settings, or ""
	env      []string // of the image
	ports    []string // that the image listens on
}

// products are the programs of a release. A program that calls methods by names that it computes, as
// html/template does, is larger by 3 MB, since the linker keeps every method then.
var products = []*product{
	{
		name: "flowdedup", module: ".", folder: "./cmd/flowdedup", most: 18_000_000,
		systems: []string{"linux", "darwin", "windows"},
		summary: "duplicate packets out of captures and live traffic",
		about: "Removes packets that a SPAN port or tap delivered twice from pcap and pcapng\n" +
			"files and from live traffic, and counts distinct addresses and flows per hour.",
		documentation: "https://github.com/flowdedup/flowdedup/tree/HEAD/cmd/flowdedup/doc",
		examples: map[string]string{
			"eth0.conf": "example.conf", "flows-edge.conf": "example-flows.conf",
			"grafana-dashboard.json": "grafana-dashboard.json", "prometheus-alerts.yml": "prometheus-alerts.yml",
		},
		// For filter expressions, and to set a capability.
		suggests: map[string][]string{"deb": {"tcpdump", "libcap2-bin"}, "rpm": {"tcpdump", "libcap"}},
		extcap:   true, config: "/etc/flowdedup",
	},
	{
		name: "flowdedup-hub", module: "engine/cluster", folder: "./cmd/flowdedup-hub", most: 22_000_000,
		systems: []string{"linux", "darwin"},
		summary: "one copy of each packet across the sites of several sensors",
		about: "Sensors of several sites ask it which of their packets another site has sent\n" +
			"before, so that each packet is kept once. It has a NATS server inside.",
		documentation: "https://github.com/flowdedup/flowdedup/tree/HEAD/cmd/flowdedup/doc/hub.md",
		examples: map[string]string{
			"flowdedup-hub.conf": "hub-example.conf", "hub-grafana-dashboard.json": "hub-grafana-dashboard.json",
			"hub-prometheus-alerts.yml": "hub-prometheus-alerts.yml",
		},
		env: []string{"XDG_STATE_HOME=/data"}, ports: []string{"4222/tcp", "9418/tcp"},
	},
}

// mainModule is the module at the top of the clone.
const mainModule = "github.com/flowdedup/flowdedup"

// path is the import path of the product's module.
func (p *product) path() string { return strings.TrimSuffix(mainModule+"/"+p.module, "/.") }

// runsOn reports whether the product is made for a platform.
func (p *product) runsOn(on platform) bool { return slices.Contains(p.systems, on.os) }

// file is the name of the program on a platform.
func (p *product) file(on platform) string {
	if on.os == "windows" {
		return p.name + ".exe"
	}
	return p.name
}

// owns reports whether a man page is in the product's packages: pages of the hub are in the
// hub's packages, all others in the main program's.
func (p *product) owns(page string) bool {
	of, _, _ := strings.Cut(filepath.Base(page), ".")
	return (of == "flowdedup-hub") == (p.name == "flowdedup-hub")
}
