package suite

import (
	"context"
	"fmt"
	"io"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/formatter"
	"github.com/onsi/ginkgo/v2/reporters"
	"github.com/onsi/ginkgo/v2/types"
)

// Options are the parts of Ginkgo's configuration that the command line offers.
type Options struct {
	LabelFilter  string
	SemVerFilter string
	// JUnit is where Ginkgo's own JUnit report goes, "" for nowhere.
	JUnit string
	// Output takes Ginkgo's own reporting; nil discards it.
	Output io.Writer
}

// CheckFilters refuses filters that Ginkgo cannot read, which it would end the
// process for.
func CheckFilters(labels, versions string) error {
	if _, err := types.ParseLabelFilter(labels); err != nil {
		return fmt.Errorf("--label-filter: %q is no label filter; labels such as rollback-window or argo-rollouts-v1.8.2 are joined with &&, ||, ! and ( )", labels)
	}
	if _, err := types.ParseSemVerFilter(versions); err != nil {
		return fmt.Errorf("--sem-ver-filter: %q is no version filter, expected one such as argo-rollouts=1.8.2", versions)
	}
	return nil
}

// Execute runs the suite outside `go test`. Ginkgo allows one suite in the life
// of a process. A cell that does not pass is no error here; see Results. Errors
// are ErrNothing and those of Prepare.
func (s *Suite) Execute(ctx context.Context, o Options) ([]Result, error) {
	config, reporter := ginkgo.GinkgoConfiguration()
	config.LabelFilter, config.SemVerFilter = o.LabelFilter, o.SemVerFilter
	config.FailOnEmpty = false
	config.Timeout = 0 // each cell has a limit of its own; Ginkgo's hour would cut long drills
	reporter.NoColor, reporter.Succinct = true, true
	if o.Output == nil {
		o.Output = io.Discard
	}
	formatter.ColorableStdOut = o.Output // where RunSpecs' own reporter writes; stdout is for results
	runs := s.Register(ctx)
	if o.JUnit != "" {
		ginkgo.ReportAfterSuite("junit", func(r ginkgo.Report) {
			if err := reporters.GenerateJUnitReport(r, o.JUnit); err != nil {
				ginkgo.Fail(fmt.Sprintf("writing the JUnit report: %v", err))
			}
		})
	}
	runs.choose(ginkgo.PreviewSpecs(s.Plan.Drill, config, reporter))
	cells := runs.chosen()
	if len(cells) == 0 {
		return nil, ErrNothing
	}
	if s.Prepare != nil {
		if err := s.Prepare(ctx, cells); err != nil {
			return nil, err
		}
	}
	runs.work()
	ginkgo.RunSpecs(verdicts{}, s.Plan.Drill, config, reporter)
	return runs.Results(), nil
}

// All runs every cell without Ginkgo, for those who run one plan after the other.
// Errors are those of Prepare.
func (s *Suite) All(ctx context.Context) ([]Result, error) {
	runs := newRuns(ctx, s)
	for _, cell := range s.Plan.Cells {
		runs.add(cell)
	}
	if s.Prepare != nil {
		if err := s.Prepare(ctx, s.Plan.Cells); err != nil {
			return nil, err
		}
	}
	runs.work()
	return runs.Results(), nil
}

// verdicts is the testing.T that RunSpecs wants. Failing is left to verdicts.
type verdicts struct{}

func (verdicts) Fail() {}
