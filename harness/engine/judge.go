package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"reckon.dev/reckon/harness/cluster"
	"reckon.dev/reckon/harness/compare"
	"reckon.dev/reckon/harness/durable"
	"reckon.dev/reckon/harness/judge"
	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/report"
	"reckon.dev/reckon/harness/scenario"
	"reckon.dev/reckon/harness/series"
	"reckon.dev/reckon/scenarios"
)

// Predict makes the answer key that a recording is held against.
type Predict func(h recording.Header) (judge.Prediction, error)

// recorded are the scenario of a recording and its parameters, those that the
// scenario did not have yet at their defaults.
func recorded(h recording.Header) (scenario.Scenario, any, error) {
	s, err := scenarios.Get(h.Scenario)
	if err != nil {
		return nil, nil, fmt.Errorf("the recording is of an %w", err)
	}
	params := s.Defaults()
	if err := decode(h.Params, params); err != nil {
		return nil, nil, fmt.Errorf("parameters in the recording's header: %w", err)
	}
	return s, params, nil
}

// Comparable is a run as comparisons want it, with its parameters in today's form.
// Errors are those of the parameters.
func Comparable(r report.Run) (compare.Run, error) {
	_, params, err := recorded(r.Header)
	if err != nil {
		return compare.Run{}, err
	}
	raw, err := json.Marshal(params)
	return compare.Run{Header: r.Header, Verdict: r.Verdict, Prediction: r.Prediction, Set: r.Set, Params: raw}, err
}

// Prediction is today's answer key for a recording, from its header alone.
func Prediction(h recording.Header) (judge.Prediction, error) {
	s, params, err := recorded(h)
	if err != nil {
		return judge.Prediction{}, err
	}
	if err := scenario.CheckBounds(params); err != nil {
		return judge.Prediction{}, fmt.Errorf("parameters in the recording's header: %w", err)
	}
	on, err := offers(h.Cluster)
	if err != nil {
		return judge.Prediction{}, fmt.Errorf("the cluster in the recording's header: %w", err)
	}
	return s.Predict(scenario.Input{Params: params, Versions: h.ModelVersions(), On: on, Guards: h.Guards})
}

// offers are the capabilities of the cluster of a recording: they decide which
// claims there are, so one that is not known is an error. Recordings that do not
// say are older than any other provider than embedded.
func offers(c recording.Cluster) (cluster.Capabilities, error) {
	if len(c.Offers) == 0 && (c.Provider == cluster.Embedded || c.Provider == "") {
		return cluster.Offered(cluster.Embedded), nil
	}
	if len(c.Offers) == 0 {
		return nil, fmt.Errorf("provider %s, but not what it offers", c.Provider)
	}
	var out cluster.Capabilities
	for _, name := range c.Offers {
		if !cluster.Everything().Has(cluster.Capability(name)) {
			return nil, fmt.Errorf("offers %q, and what is known is %s", name, cluster.Everything())
		}
		out = append(out, cluster.Capability(name))
	}
	return out, nil
}

// changed lists the parameters of a recording that are not at today's defaults,
// none where they cannot be read.
func changed(h recording.Header) []string {
	s, params, err := recorded(h)
	if err != nil {
		return nil
	}
	return scenario.Changed(s.Defaults(), params)
}

// Judge judges the recording in a run directory. It is the only way to a
// verdict: the run itself uses it too, so judging again gives the same bytes.
// Errors are those of the recording (cut, edited, wrong format) and of models.
func Judge(dir RunDir, predict Predict) (report.Run, error) {
	f, err := os.Open(dir.File(RecordingFile))
	if err != nil {
		return report.Run{}, fmt.Errorf("no recording in %s: %w", dir, err)
	}
	defer f.Close()
	run, err := judgeStream(f, predict)
	if err != nil {
		return report.Run{}, fmt.Errorf("%s: %w", dir.File(RecordingFile), err)
	}
	return run, nil
}

func judgeStream(in io.Reader, predict Predict) (report.Run, error) {
	r, err := recording.NewReader(in)
	if err != nil {
		return report.Run{}, err
	}
	defer r.Close()
	prediction, err := predict(r.Header)
	if err != nil {
		return report.Run{}, err
	}
	set, err := series.Read(r, prediction.Definitions)
	if err != nil {
		return report.Run{}, err
	}
	if prediction.Computed != nil {
		for _, computed := range prediction.Computed(set) {
			set.Add(computed)
		}
	}
	gate := judge.Gate{Claims: r.Header.Gate["claims"], Guards: r.Header.Gate["guards"]}
	verdict, err := judge.Judge(r.Header, prediction, set, gate)
	if err != nil {
		return report.Run{}, err
	}
	return report.Run{Header: r.Header, Verdict: verdict, Changed: changed(r.Header), Prediction: prediction, Set: set}, nil
}

// WriteReports writes verdict.json, junit.xml and report.html, in that order:
// where space ends, the verdict is what is there. No file is ever half written,
// and a run with a verdict.json has come to its end.
func WriteReports(dir RunDir, run report.Run) error {
	for _, file := range []struct {
		name   string
		render func(io.Writer) error
	}{
		{VerdictFile, func(w io.Writer) error { return report.JSON(w, run.Verdict) }},
		{JUnitFile, func(w io.Writer) error { return report.JUnit(w, []judge.Verdict{run.Verdict}) }},
		{HTMLFile, func(w io.Writer) error { return report.HTML(w, run) }},
	} {
		var text strings.Builder
		if err := file.render(&text); err != nil {
			return fmt.Errorf("rendering %s: %w", file.name, err)
		}
		if err := durable.WriteFile(dir.File(file.name), []byte(text.String())); err != nil {
			return fmt.Errorf("the run's report: %w", err)
		}
	}
	return nil
}
