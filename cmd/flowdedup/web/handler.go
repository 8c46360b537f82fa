// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Content is the content of a server. Its functions may be called concurrently.
type Content struct {
	// Page writes the HTML of /, which browsers load again every Refresh, at least a second, but
	// not as /?paused: the page has a link there, and a link back.
	Page    func(w io.Writer, paused bool) error
	Refresh time.Duration
	// Health is the answer of /healthz.
	Health func() Health
	// Metrics writes the metrics of the program to /metrics. Metrics of the process follow.
	Metrics func(w io.Writer) error
	// Status is the object of /status.json; nil for no such path.
	Status func() any
}

// Handler answers for all paths. It answers only GET and HEAD, takes no body, and redirects
// nobody.
func (c Content) Handler() http.Handler {
	paths := map[string]http.HandlerFunc{
		"/":        limitConcurrency(c.servePage),
		"/healthz": limitConcurrency(c.serveHealth),
		"/metrics": limitConcurrency(c.serveMetrics),
	}
	if c.Status != nil {
		paths["/status.json"] = limitConcurrency(c.serveStatus)
	}
	return withSecurityHeaders(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serve := paths[r.URL.Path]
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "Only GET and HEAD are answered.", http.StatusMethodNotAllowed)
		case r.ContentLength != 0:
			w.Header().Set("Connection", "close") // the body is not read
			http.Error(w, "No path takes a body.", http.StatusRequestEntityTooLarge)
		case foreign(r):
			http.Error(w, "Pages from elsewhere may not ask.", http.StatusForbidden)
		case serve == nil:
			http.NotFound(w, r)
		default:
			serve(w, r)
		}
	}))
}

func (c Content) servePage(w http.ResponseWriter, r *http.Request) {
	var page bytes.Buffer
	paused := r.URL.Query().Has("paused")
	if err := c.Page(&page, paused); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if !paused {
		w.Header().Set("Refresh", strconv.Itoa(int(c.Refresh.Seconds())))
	}
	_, _ = w.Write(page.Bytes()) // an error means that the client left
}

func (c Content) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", metricsType)
	if c.Metrics(w) == nil { // else the client left
		_ = WriteMetrics(w, processMetrics(), nil)
	}
}

// serveHealth answers with one line, and with status 503 if something fails.
func (c Content) serveHealth(w http.ResponseWriter, _ *http.Request) {
	h := c.Health()
	w.Header().Set("Content-Type", "application/json")
	if h.Status != healthy {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(&h) // an error means that the client left
}

func (c Content) serveStatus(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(c.Status()) // an error means that the client left
}

// maxConcurrent is how many requests per path are answered at a time.
const maxConcurrent = 8

// limitConcurrency answers at most maxConcurrent requests at a time, and others with 503.
func limitConcurrency(h http.HandlerFunc) http.HandlerFunc {
	places := make(chan struct{}, maxConcurrent)
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			h(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, fmt.Sprintf("%d requests to %s are being answered", maxConcurrent, r.URL.Path), http.StatusServiceUnavailable)
		}
	}
}

// withSecurityHeaders sets headers that keep answers from being framed by other pages,
// taken for other types of content, or kept.
func withSecurityHeaders(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Cache-Control":                "no-store",
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

// Health is the answer of /healthz, in JSON.
type Health struct {
	Status  string        `json:"status"` // "ok" or "failing"
	Age     time.Duration `json:"age_ns"`
	Reasons []string      `json:"reasons,omitempty"`
}

// The values of Health.Status.
const (
	healthy = "ok"
	failing = "failing"
)

// MaxAge is how old the last status of a program may be, and for how long a loss is a reason
// of bad health. Healthy programs give a status once a second.
const MaxAge = 10 * time.Second

// HealthAt returns the health of a program that gave its last status at a time, zero for none.
// The reasons name what fails.
func HealthAt(updated time.Time, reasons []string) Health {
	if updated.IsZero() {
		return Health{Status: failing, Reasons: []string{"no status yet"}}
	}
	waited := time.Since(updated)
	if waited > MaxAge {
		reasons = append(reasons, fmt.Sprintf("no status for %s", waited.Round(time.Second)))
	}
	h := Health{Status: healthy, Age: waited.Truncate(time.Millisecond), Reasons: reasons}
	if len(reasons) > 0 {
		h.Status = failing
	}
	return h
}

// onlyHosts answers connections to loopback only if they ask for localhost, an IP address, or
// the host of the address that --http has. It stops DNS rebinding: a page from elsewhere can
// point its own name at this host and read the answers through the operator's browser, but it
// cannot use these names. A request without a name does not come from a browser.
// Connections to other addresses are answered whatever they ask for, as a host cannot know
// its names.
func onlyHosts(address string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
		if ok && local.IP.IsLoopback() && !ours(hostOf(r.Host), hostOf(address)) {
			refuse(w, r, "This is not the host that was asked for: take its address, localhost, or the name in "+flag+".", http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// refuse answers a request that no path sees.
func refuse(w http.ResponseWriter, r *http.Request, why string, status int) {
	withSecurityHeaders(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, why, status) })).ServeHTTP(w, r)
}

// ours reports whether a request is for a host that no page from elsewhere can have.
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
