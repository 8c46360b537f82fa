// SPDX-License-Identifier: Apache-2.0

package page

import "testing"

// TestEscapes checks that arguments cannot leave the place where they stand.
func TestEscapes(t *testing.T) {
	const nasty = `"><script>&'`
	const escaped = `&#34;&gt;&lt;script&gt;&amp;&#39;`
	type named string
	var b Builder
	b.Addf(`<a b="%s">%v %v %v %v</a>`, nasty, named(nasty), 1.5, 7, Markup("<br>"))
	if got, want := b.Markup(), Markup(`<a b="`+escaped+`">`+escaped+` 1.5 7 <br></a>`); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
