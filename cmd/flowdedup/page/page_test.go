// SPDX-License-Identifier: Apache-2.0

package page

import (
	"strings"
	"testing"
	"time"
)

// TestPage checks what a page says of itself, and that what scrolls has a name and can be
// reached.
func TestPage(t *testing.T) {
	p := Page{
		Title: "flowdedup x", Lead: []string{"All is well."}, Alerts: []string{"disk full"},
		Command: "flowdedup y --keep flow", Because: []string{"takes 3 s"},
		Facts:  []Fact{{"packets", "7"}, {"time", "from the first to the last"}},
		Origin: Origin{Command: "flowdedup x a", Inputs: []string{"a", "b", "c", "<d>"}, Version: "v1", Made: time.Date(2026, 3, 29, 1, 2, 3, 0, time.UTC)},
		Sections: []Section{
			{Heading: "Numbers", Table: &Table{
				Columns: []TableColumn{{Name: "name", Left: true}, {Name: "full"}, {}}, Rows: [][]string{{"one", "50 %", ""}},
				Look: func(_, column int) Look { return Look{Class: "warn", Meter: column == 1, Share: 0.5} },
			}},
			{Heading: "Pictures", Pictures: []Picture{Bars{}}, Table: &Table{Columns: []TableColumn{{Name: "none"}}}},
		},
	}
	for _, c := range []struct {
		live         *Live
		want, absent []string
	}{
		{nil, []string{
			"<title>flowdedup x: a, b and 2 more</title>", "<code>flowdedup x a</code>", "Input: a, b, c, &lt;d&gt;", "Made 2026-03-29 01:02:03 UTC by flowdedup, version v1",
			`<div class="scroll" tabindex="0" role="region" aria-label="Table: Numbers">`, "<caption>Numbers</caption>", `<th scope="col">full</th>`,
			`<th scope="row" class="left warn">one</th>`, `<meter min="0" max="1" value="0.5" aria-label="full"></meter>50` + "\u00a0%</td>",
			`<li class="bad">disk full</li>`, "Nothing so far.",
			"<h2>Run this</h2>\n<pre>flowdedup y <span class=\"word\">--keep</span> flow</pre>", "<li>takes 3\u00a0s</li>",
			`<dl class="large">` + "\n<div><dt>packets</dt><dd>7</dd></div>\n</dl>", "<h2>Details</h2>\n<dl>\n<div class=\"wide\"><dt>time</dt>",
		}, []string{"Pause", ">none<", "<svg", "<th></th>", "<script"}},
		{&Live{Every: 5 * time.Second, Paths: []string{"/metrics"}}, []string{"Loaded again every 5s.", `<a href="/?paused">Pause</a>`, `<a href="/metrics">metrics</a>`}, []string{"Resume"}},
		{&Live{Every: 5 * time.Second, Paused: true}, []string{"Paused at 2026-03-29 01:02:03 UTC.", `<a href="/">Resume</a>`}, []string{">Pause<"}},
	} {
		p.Live = c.live
		var out strings.Builder
		if err := p.Write(&out); err != nil {
			t.Fatal(err)
		}
		for _, text := range c.want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("no %q in %s", text, out.String())
			}
		}
		for _, text := range c.absent {
			if strings.Contains(out.String(), text) {
				t.Errorf("%q in %s", text, out.String())
			}
		}
	}
}

// TestEscapes checks that arguments cannot leave the place where they stand.
func TestEscapes(t *testing.T) {
	const nasty = `"><script>&'`
	const escaped = `&#34;&gt;&lt;script&gt;&amp;&#39;`
	type named string
	var b builder
	b.addf(`<a b="%s">%v %v %v %v</a>`, nasty, named(nasty), 1.5, 7, markup("<br>"))
	if got, want := b.markup(), markup(`<a b="`+escaped+`">`+escaped+` 1.5 7 <br></a>`); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
