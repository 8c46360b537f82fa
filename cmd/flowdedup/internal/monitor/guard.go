package monitor

import (
	"fmt"
	"net"
	"net/http"
	"strings"
)

// mostAnswers is how many requests to a path are answered at a time.
const mostAnswers = 8

// limited answers only so many requests at a time.
func limited(h http.HandlerFunc) http.HandlerFunc {
	places := make(chan struct{}, mostAnswers)
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			h(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, fmt.Sprintf("%d requests to %s are being answered", mostAnswers, r.URL.Path), http.StatusServiceUnavailable)
		}
	}
}

// secured keeps what is answered from being shown in another page, or being taken for
// something else than it says.
func secured(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Content-Security-Policy":      "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Referrer-Policy":              "no-referrer",
			"X-Content-Type-Options":       "nosniff",
			"X-Frame-Options":              "DENY",
		} {
			w.Header().Set(name, value)
		}
		h.ServeHTTP(w, r)
	})
}

// onlyHost answers requests to one name, to localhost and to addresses. A page from
// elsewhere can have a name of its own lead to this host, once it was loaded, and then
// may read what the operator's browser gets here; but it can take none of these for its
// own. Whoever sends no name is no browser.
func onlyHost(name string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := hostOf(r.Host)
		if asked == "" || asked == "localhost" || asked == hostOf(name) || net.ParseIP(asked) != nil {
			h.ServeHTTP(w, r)
			return
		}
		http.Error(w, "This is not the host that was asked for: take its address, localhost, or the name in --listen.", http.StatusMisdirectedRequest)
	})
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
