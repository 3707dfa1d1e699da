package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"reckon.dev/reckon/harness/engine"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/report"
)

func newJudge(a *app) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "judge RUN-DIR...",
		Short: "Judge recordings again with today's models",
		Long: `Judge recordings again. verdict.json is compared with the new verdict and left
as it is; a verdict that changed is said so. A recording that was cut or edited
is refused.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkOutput(output, "text", "json", "markdown", "junit"); err != nil {
				return usage(err)
			}
			return a.judge(args, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text, json, markdown or junit")
	return cmd
}

func (a *app) judge(dirs []string, output string) error {
	var runs []report.Run
	var codes []int
	for _, dir := range dirs {
		if err := checkRunDir(dir); err != nil {
			return err
		}
		run, err := engine.Judge(engine.RunDir(dir), engine.Prediction)
		if err != nil {
			fmt.Fprintln(a.Err, "reckon: refused: "+err.Error())
			codes = append(codes, ExitInvalid)
			continue
		}
		a.noteChange(dir, run.Verdict)
		runs = append(runs, run)
		codes = append(codes, codeOf(run.Verdict.Outcome))
	}
	code := worst(codes)
	if err := a.print(runs, output, code); err != nil {
		return err
	}
	if code == ExitPass {
		return nil
	}
	return &exitError{code: code}
}

// checkRunDir tells a mistyped path from a run that cannot be judged.
func checkRunDir(dir string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return usage(fmt.Errorf("%s is no run directory", dir))
	}
	return nil
}

// noteChange says when today's verdict differs from the recorded one.
func (a *app) noteChange(dir string, v judge.Verdict) {
	old, err := os.ReadFile(engine.RunDir(dir).File(engine.VerdictFile))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	now, renderErr := render(v)
	if err == nil && renderErr == nil && string(old) != now {
		fmt.Fprintf(a.Err, "reckon: %s: the verdict differs from the one in %s\n", dir, engine.VerdictFile)
	}
}

func newReport(a *app) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "report RUN-DIR",
		Short: "Render a run again",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkOutput(format, "text", "json", "markdown", "html", "junit"); err != nil {
				return usage(err)
			}
			if err := checkRunDir(args[0]); err != nil {
				return err
			}
			run, err := engine.Judge(engine.RunDir(args[0]), engine.Prediction)
			if err != nil {
				return &exitError{ExitInvalid, fmt.Errorf("refused: %w", err)}
			}
			switch format {
			case "html":
				return report.HTML(a.Out, run)
			case "json":
				return report.JSON(a.Out, run.Verdict)
			}
			return a.print([]report.Run{run}, format, 0)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text, json, markdown, html or junit")
	return cmd
}
