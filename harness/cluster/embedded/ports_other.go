//go:build !linux

package embedded

import (
	"os"

	"reckon.dev/reckon/harness/process"
)

func reserveName(int) (*os.File, error) { return nil, process.ErrUnsupported }
