package cli

// enoughFiles is for systems that bound how many files are open.
func enoughFiles() error { return nil }
