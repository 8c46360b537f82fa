package snapshot

import (
	"fmt"
	"math"
	"reflect"
)

// Fields lists the numbers that a filter saves beside its lines, in the order of the
// file: pointers to integers, flags and floating-point numbers, and slices of integers. Each
// takes a word. One list serves for writing and for reading, so the two cannot differ.
type Fields []any

// Rest is the last field of a list whose length varies.
type Rest struct {
	Words       *[]uint64
	Least, Most int // how many words there are when it is read
}

// ErrInconsistent is what errors about numbers wrap that no filter has at the same time.
var ErrInconsistent = fmt.Errorf("%w: parameters that do not belong together", ErrInvalid)

// count returns how many words the list takes, from least to most.
func (f Fields) count() (least, most int) {
	for _, field := range f {
		switch field := field.(type) {
		case []uint64:
			least, most = least+len(field), most+len(field)
		case []int64:
			least, most = least+len(field), most+len(field)
		case Rest:
			least, most = least+field.Least, most+field.Most
		default:
			least, most = least+1, most+1
		}
	}
	return least, most
}

// words returns the numbers as they are saved.
func (f Fields) words() (words []uint64) {
	for _, field := range f {
		switch field := field.(type) {
		case []uint64:
			words = append(words, field...)
		case []int64:
			for _, n := range field {
				words = append(words, uint64(n))
			}
		case Rest:
			words = append(words, *field.Words...)
		default:
			words = append(words, numberWord(reflect.ValueOf(field).Elem()))
		}
	}
	return words
}

// set gives the numbers the values that were saved, of which there are as many as count says.
// The error wraps ErrInvalid.
func (f Fields) set(words []uint64) error {
	for _, field := range f {
		n := 1
		switch field := field.(type) {
		case []uint64:
			n = copy(field, words)
		case []int64:
			for n = range field {
				field[n] = int64(words[n])
			}
			n = len(field)
		case Rest:
			*field.Words, n = words, len(words)
		default:
			if !setNumber(reflect.ValueOf(field).Elem(), words[0]) {
				return ErrInconsistent
			}
		}
		words = words[n:]
	}
	return nil
}

func numberWord(v reflect.Value) uint64 {
	switch {
	case v.CanInt():
		return uint64(v.Int())
	case v.CanUint():
		return v.Uint()
	case v.CanFloat():
		return math.Float64bits(v.Float())
	case v.Bool():
		return 1
	}
	return 0
}

// setNumber reports whether v can hold what was saved.
func setNumber(v reflect.Value, word uint64) bool {
	switch {
	case v.CanInt():
		v.SetInt(int64(word))
		return !v.OverflowInt(int64(word))
	case v.CanUint():
		v.SetUint(word)
		return !v.OverflowUint(word)
	case v.CanFloat():
		v.SetFloat(math.Float64frombits(word))
	default:
		v.SetBool(word != 0)
	}
	return true
}
