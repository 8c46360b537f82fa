// SPDX-License-Identifier: Apache-2.0

package slice

// matrix has a T for each pair of sites that was asked for.
type matrix[T any] struct {
	rows [][]*T
}

// add makes room for one more site.
func (m *matrix[T]) add() {
	n := len(m.rows) + 1
	m.rows = append(m.rows, nil)
	for i := range m.rows {
		m.rows[i] = append(m.rows[i], make([]*T, n-len(m.rows[i]))...)
	}
}

// at returns the T of two sites.
func (m *matrix[T]) at(a, b int) *T {
	p := m.rows[a][b]
	if p == nil {
		p = new(T)
		m.rows[a][b] = p
	}
	return p
}

// reset makes all zero.
func (m *matrix[T]) reset() {
	for _, row := range m.rows {
		clear(row)
	}
}
