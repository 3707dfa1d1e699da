package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"k8s.io/utils/clock"

	"reckon.dev/reckon/drills"
)

// root of the repository, as tests of this package see it.
const root = "../.."

// TestCommandsThatAreWrittenDownExist: those of workflows, of the scripts that these
// run, of the README and of the track record are what the command line takes, and what
// the Makefile has.
func TestCommandsThatAreWrittenDownExist(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines []string
		// least is how many commands there are at least: a parser that finds none would
		// find no mistake either.
		least int
	}{
		"the nightly workflow": {workflow(t, ".github/workflows/nightly.yml"), 5},
		"the nightly script":   {strings.Split(text(t, ".ci/nightly"), "\n"), 3},
		"the README":           {blocks(text(t, "README.md"), "```(?:sh|console)\n"), 20},
		"the track record":     {blocks(text(t, "results/track-record.md"), "`(?:reckon )"), 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			commands := commandsOf(c.lines)
			if len(commands) < c.least {
				t.Fatalf("only %d commands: %q", len(commands), commands)
			}
			for _, words := range commands {
				if err := accepts(words); err != nil {
					t.Errorf("%s: %v", strings.Join(words, " "), err)
				}
			}
		})
	}
}

func TestACommandThatIsNoneIsFound(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"make drill":             "",
		"make tset":              "the Makefile has no target tset",
		"bin/reckon run nigthly": `no drill file, shipped drill or scenario "nigthly"`,
		"bin/reckon run --resume --results x -o markdown":        "",
		"bin/reckon run --resmue":                                "unknown flag: --resmue",
		"bin/reckon claen || true":                               `unknown command "claen"`,
		`reckon plan rollback-versions --set 'steps=[5, pause]'`: "",
		".ci/nightly results":                                    "",
		".ci/nigthly":                                            "no such file",
	} {
		commands := commandsOf([]string{strings.TrimPrefix(line, "- ")})
		if len(commands) != 1 {
			t.Fatalf("%s: %q", line, commands)
		}
		err := accepts(commands[0])
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// workflow are the lines that the steps of a workflow run.
func workflow(t *testing.T, path string) []string {
	t.Helper()
	var w struct {
		On   map[string]any
		Jobs map[string]struct {
			RunsOn string `yaml:"runs-on"`
			Steps  []struct {
				Uses, Run string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(text(t, path)), &w); err != nil {
		t.Fatal(err)
	}
	if len(w.On) == 0 || len(w.Jobs) == 0 {
		t.Fatalf("%s runs nothing: %+v", path, w)
	}
	var out []string
	for _, job := range w.Jobs {
		for _, step := range job.Steps {
			if (step.Uses == "") == (step.Run == "") {
				t.Errorf("%s: a step has to use or to run something: %+v", path, step)
			}
			out = append(out, strings.Split(step.Run, "\n")...)
		}
	}
	return out
}

// blocks are the lines of the code that begins so, with what the beginning holds of it.
func blocks(text, begin string) []string {
	var out []string
	for _, at := range regexp.MustCompile(begin).FindAllStringIndex(text, -1) {
		mark := text[at[0]:at[1]]
		fence := mark[:len(mark)-len(strings.TrimLeft(mark, "`"))]
		code := text[at[0]+len(fence):]
		if end := strings.Index(code, fence); end >= 0 {
			out = append(out, strings.Split(code[:end], "\n")...)
		}
	}
	return out
}

// separators are what stands between the commands of a line.
var separators = regexp.MustCompile(`\|\||&&|[;|]| # .*$`)

// word of a shell: quoted parts hold blanks, and variables stand for some text.
var word = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)

// commandsOf are the commands of reckon, make and the scripts of .ci.
func commandsOf(lines []string) [][]string {
	var out [][]string
	for _, line := range lines {
		for _, command := range separators.Split(line, -1) {
			words := wordsOf(command)
			if len(words) > 0 && (slices.Contains([]string{"reckon", "bin/reckon", "make"}, words[0]) || strings.HasPrefix(words[0], ".ci/")) {
				out = append(out, words)
			}
		}
	}
	return out
}

// wordsOf takes quotes and redirections away.
func wordsOf(command string) []string {
	command = strings.TrimPrefix(strings.TrimSpace(command), "$ ")
	var out []string
	for _, w := range word.FindAllString(command, -1) {
		if strings.HasPrefix(w, ">") {
			break
		}
		out = append(out, strings.NewReplacer("'", "", `"`, "").Replace(w))
	}
	return out
}

// accepts says whether a command would be taken, without running it.
func accepts(words []string) error {
	switch {
	case words[0] == "make":
		return isTarget(words[1:])
	case strings.HasPrefix(words[0], ".ci/"):
		info, err := os.Stat(filepath.Join(root, words[0]))
		if err == nil && info.Mode()&0o111 == 0 {
			err = fmt.Errorf("%s cannot be executed", words[0])
		}
		return err
	}
	top := newRoot(IO{Out: io.Discard, Err: io.Discard, Getenv: os.Getenv, Clock: clock.RealClock{}})
	cmd, rest, err := top.Find(words[1:])
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	args := cmd.Flags().Args()
	if err := cmd.ValidateArgs(args); err != nil {
		return err
	}
	if named := slices.Contains([]string{"run", "plan", "predict"}, cmd.Name()); named && !cmd.Flags().Changed(resumeFlag) {
		_, err = drills.Find(args[0])
	}
	return err
}

func isTarget(names []string) error {
	raw, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `:`).Match(raw) {
			return fmt.Errorf("the Makefile has no target %s", name)
		}
	}
	return nil
}
