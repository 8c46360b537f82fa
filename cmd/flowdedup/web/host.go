// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// onlyHosts answers connections to loopback only if they ask for localhost, an IP address, or
// the host of the address that --http has. It stops DNS rebinding: a page from elsewhere can
// point its own name at this host and read the answers through the operator's browser, but it
// cannot use one of these names. A request without a name does not come from a browser.
// Connections to other addresses are answered whatever they ask for, as a host cannot know
// its names.
func onlyHosts(address string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
		if ok && local.IP.IsLoopback() && !ours(hostOf(r.Host), hostOf(address)) {
			withSecurityHeaders(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "This is not the host that was asked for: take its address, localhost, or the name in "+flag+".", http.StatusMisdirectedRequest)
			})).ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// ours reports whether a host that is asked for is one that no page from elsewhere can have.
func ours(asked, name string) bool {
	return asked == "" || asked == "localhost" || asked == name || net.ParseIP(asked) != nil
}

// hostOf returns the name or address in a Host header, in lower case and without a port.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	host, _, _ = strings.Cut(host, "%") // the zone of an address
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// foreign reports whether a browser says that it asks for a page from elsewhere. Links to
// here are no such requests.
//
// Source: https://www.w3.org/TR/fetch-metadata
func foreign(r *http.Request) bool {
	for _, origin := range r.Header.Values("Origin") {
		if u, err := url.Parse(origin); err != nil || !strings.EqualFold(u.Host, r.Host) {
			return true
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return false
	}
	return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
}
