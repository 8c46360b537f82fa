package cli

// enoughFiles is for systems that bound how many files are open.
func enoughFiles() error { return nil }

// ignoreSIGPIPE does nothing: Windows reports a closed pipe as a write error.
func ignoreSIGPIPE() {}
