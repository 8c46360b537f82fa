package cli

// Windows reports a closed pipe as a write error and knows no such signal.
func ignoreSIGPIPE() {}
