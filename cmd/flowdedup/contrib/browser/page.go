// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"strings"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
)

//go:embed page.js files.js worker.js style.css
var sources embed.FS

//go:embed index.html
var index string

//go:embed style.css
var own string

// style is the style of the program's pages with the additions of this page.
func style() string { return page.Style() + own }

// policy says what a page may load: scripts as given, and nothing of other hosts. The worker is
// a Blob, so that it has this policy, too. Styles may stand in the page, as in the pages that
// the program writes and the frame shows.
func policy(scripts, requests, styles string) string {
	return "default-src 'none'; script-src " + scripts + " 'wasm-unsafe-eval'; worker-src blob:; connect-src " + requests +
		"; style-src " + styles + "; img-src data:; base-uri 'none'; form-action 'none'"
}

// folderPolicy is the policy of the folder's page, which loads files next to it.
var folderPolicy = policy("'self'", "'self'", "'self' 'unsafe-inline'")

// policed puts a policy into a page.
func policed(page, policy string) string {
	return strings.Replace(page, `content="POLICY"`, `content="`+policy+`"`, 1)
}

// licensed adds the licences of third parties to the page: whoever has it has them.
func licensed(page, text string) string {
	const mark = "<!--LICENCES-->"
	return strings.Replace(page, mark, "<details><summary>Licences</summary>\n<p>flowdedup has the Apache License 2.0, and parts by others have these:</p>\n<pre>"+
		html.EscapeString(text)+"</pre></details>", 1)
}

// single returns the page as one file: with script and style inline, and other files as base64
// in scripts of a type that does not run. The policy names the script by its hash, and permits
// no request at all.
func single(page string, made map[string][]byte) ([]byte, error) {
	script := string(made["page.js"])
	if strings.Contains(script, "</script") {
		return nil, fmt.Errorf("page.js ends its own element")
	}
	var data strings.Builder
	for _, name := range []string{"files.js", "wasm_exec.js", "worker.js", "flowdedup.wasm.gz"} {
		fmt.Fprintf(&data, "<script type=\"application/octet-stream\" data-part=%q>%s</script>\n", name, base64.StdEncoding.EncodeToString(made[name]))
	}
	hash := sha256.Sum256([]byte(script))
	page = policed(page, policy("'sha256-"+base64.StdEncoding.EncodeToString(hash[:])+"'", "'none'", "'unsafe-inline'"))
	for mark, with := range map[string]string{
		`<link rel="stylesheet" href="style.css">`:      "<style>" + string(made["style.css"]) + "</style>",
		`<script type="module" src="page.js"></script>`: data.String() + `<script type="module">` + script + "</script>",
	} {
		if strings.Count(page, mark) != 1 {
			return nil, fmt.Errorf("index.html has no %s", mark)
		}
		page = strings.Replace(page, mark, with, 1)
	}
	return []byte(page), nil
}
