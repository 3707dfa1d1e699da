//go:build !unix

package xdsfleet

// enoughFiles: there is no such limit.
func enoughFiles(int) error { return nil }
