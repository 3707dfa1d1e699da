package series_test

import (
	"testing"

	"reckon.dev/reckon/harness/recording"
	"reckon.dev/reckon/harness/series"
)

func TestEachObjectHasASeriesOfItsOwn(t *testing.T) {
	t.Parallel()
	value := func(v *series.View) (series.Value, bool) {
		return series.Number(float64(*v.Spec.Replicas)), v.Metadata.Name != "other"
	}
	gone := series.Number(-1)
	set := read(t, 100, []series.Definition{
		{Name: "size", Each: &series.EachObject{Resource: replicaSets, Value: value, Gone: &gone}},
		{Name: "writes", Each: &series.EachObject{Resource: replicaSets, Value: value, Writes: true}},
	},
		changed(object(1, replicaSets, "b", 1, 3, 0), recording.Listed),
		object(2, replicaSets, "a", 2, 5, 0),
		object(3, replicaSets, "b", 3, 3, 1), // the same size
		object(4, replicaSets, "other", 4, 1, 0),
		object(5, rollouts, "b", 5, 9, 0),
		changed(object(6, replicaSets, "b", 3, 3, 1), recording.Listed), // listed anew
		changed(object(7, replicaSets, "b", 7, 3, 1), recording.Deleted),
	)
	for name, want := range map[string]string{"size/n/a": "5 ", "size/n/b": "3 -1 ", "writes/n/a": "5 ", "writes/n/b": "3 3 ", "size": "", "writes": ""} {
		s, err := set.Get(name)
		if err != nil {
			t.Error(err)
			continue
		}
		got := ""
		for _, p := range s.Points {
			got += p.Value.String() + " "
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if found := set.Beginning("size/"); len(found) != 2 || found[0].Name != "size/n/a" || found[1].Name != "size/n/b" {
		t.Errorf("found %v", found)
	}
	if _, err := set.Get("size/n/other"); err == nil {
		t.Error("an object that the series are not about has one")
	}
}
