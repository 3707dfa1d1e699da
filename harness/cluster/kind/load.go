package kind

import (
	"bytes"
	"context"
	"fmt"
	"os"

	kindexec "sigs.k8s.io/kind/pkg/exec"
)

// loadImage imports an archive into containerd, under the names that it holds.
// It unpacks at once, so that the first pod does not wait for it.
func loadImage(ctx context.Context, command func(context.Context, string, ...string) kindexec.Cmd, archive string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	var said bytes.Buffer
	err = command(ctx, "ctr", "--namespace=k8s.io", "images", "import", "--all-platforms", "--digests", "-").
		SetStdin(f).SetStdout(&said).SetStderr(&said).Run()
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return explain(fmt.Errorf("%w: %s", err, lastLines(said.String())))
	}
	return nil
}
