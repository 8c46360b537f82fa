package layout

// MemoryAvailable returns how many bytes this process can still take without others being
// swapped out or killed; it reports false where that is not known. On Linux it is what the
// machine has available, or what the memory cgroup of the process or one above it leaves,
// whichever is less. Elsewhere it is memoryLimitIn.
func MemoryAvailable() (n int64, ok bool) { return memoryAvailable() }
