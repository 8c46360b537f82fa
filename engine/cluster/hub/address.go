// SPDX-License-Identifier: Apache-2.0

package hub

import "net"

// SiteURL returns the address at which sites reach the server: the configured one, or the
// listening address. If it listens on all addresses of the machine, that is the first address
// that others can reach.
func (s *Settings) SiteURL() string {
	switch {
	case s.URL != "":
		return s.URL
	case s.NATS != "":
		return s.NATS
	}
	host, port, err := net.SplitHostPort(s.Listen)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = ownAddress()
	}
	return "nats://" + net.JoinHostPort(host, port)
}

// localURL is SiteURL for programs on the machine of the server.
func (s *Settings) localURL() string {
	if s.NATS != "" {
		return s.NATS
	}
	host, port, err := net.SplitHostPort(s.Listen)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "nats://" + net.JoinHostPort(host, port)
}

// ownAddress returns an address of the machine that others can reach, an IPv4 address if there
// is any.
func ownAddress() string {
	best := "127.0.0.1"
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return best
	}
	for _, a := range addresses {
		network, ok := a.(*net.IPNet)
		if !ok || !network.IP.IsGlobalUnicast() {
			continue
		}
		if network.IP.To4() != nil {
			return network.IP.String()
		}
		best = network.IP.String()
	}
	return best
}
