// Package router holds the scripts that make the captures of testdata/pcaps in
// network namespaces, and tests that hold their truth files against them.
package router
