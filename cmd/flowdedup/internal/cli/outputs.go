package cli

import "os"

// namesInput tells whether an output would replace one of the inputs.
func namesInput(output string, inputs []string) bool {
	if output == "" {
		return false
	}
	info, err := os.Stat(output)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	for _, name := range inputs {
		if in, err := os.Stat(name); err == nil && os.SameFile(info, in) {
			return true
		}
	}
	return false
}
