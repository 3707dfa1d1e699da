package deployment

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// The whole cross product of replicas 0 to 60 with percentages 0 to 100 and integers 0 to
// 10, in both fields, against the function that the controller calls. Each field is
// rounded on its own, so that function is asked once for a value; the pairs are then
// combined as ResolveFenceposts does.
func TestFencepostsAreThoseOfIntOrString(t *testing.T) {
	var values []IntOrPercent
	for n := range 101 {
		values = append(values, Percent(n))
	}
	for n := range 11 {
		values = append(values, Int(n))
	}
	var wg sync.WaitGroup
	for replicas := range 61 {
		wg.Go(func() {
			up, down := make([]int, len(values)), make([]int, len(values))
			for i, v := range values {
				up[i], down[i] = scaled(t, v, replicas, true), scaled(t, v, replicas, false)
			}
			for i, surge := range values {
				for j, unavailable := range values {
					wantS, wantU := up[i], down[j]
					if wantS == 0 && wantU == 0 {
						wantU = 1
					}
					if s, u := Fenceposts(replicas, surge, unavailable); s != wantS || u != wantU {
						t.Errorf("%d replicas, surge %s, unavailable %s: %d and %d, want %d and %d", replicas, surge, unavailable, s, u, wantS, wantU)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

func scaled(t *testing.T, v IntOrPercent, replicas int, up bool) int {
	upstream := intstr.Parse(v.String())
	n, err := intstr.GetScaledValueFromIntOrPercent(&upstream, replicas, up)
	if err != nil {
		t.Error(err)
	}
	return n
}

func TestParseRefusesWhatTheAPIRefuses(t *testing.T) {
	for text, want := range map[string]string{"3": "3", "0": "0", "25%": "25%", "100%": "100%", "250%": "250%", "007%": "7%"} {
		got, err := ParseIntOrPercent(text)
		if err != nil || got.String() != want {
			t.Errorf("%q is %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "%", "-1", "-5%", "+3", "2.5%", "25 %", "25%%", "oops", "99999999999"} {
		if got, err := ParseIntOrPercent(text); err == nil {
			t.Errorf("%q is accepted as %s", text, got)
		}
	}
}

func TestIntOrPercentSurvivesJSON(t *testing.T) {
	for text, want := range map[string]IntOrPercent{"3": Int(3), `"25%"`: Percent(25), `"3"`: Int(3)} {
		var got IntOrPercent
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s is %v, %v", text, got, err)
		}
		out, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var again IntOrPercent
		if err := json.Unmarshal(out, &again); err != nil || again != got {
			t.Errorf("%s came back as %v, %v", out, again, err)
		}
	}
	var v IntOrPercent
	for _, text := range []string{"-1", "2.5", `"x"`, "null", "true", "{}"} {
		if err := json.Unmarshal([]byte(text), &v); err == nil && text != "null" {
			t.Errorf("%s is accepted", text)
		}
	}
}

func TestValidateRefusesWhatTheAPIRefuses(t *testing.T) {
	for _, tt := range []struct {
		surge, unavailable IntOrPercent
		ok                 bool
	}{
		{Percent(25), Percent(25), true},
		{Percent(300), Int(0), true},
		{Int(0), Percent(1), true}, // rounds to 0, and is then 1
		{Int(50), Int(50), true},
		{Int(0), Int(0), false},
		{Percent(0), Int(0), false},
		{Int(1), Percent(101), false},
	} {
		if err := Validate(tt.surge, tt.unavailable); (err == nil) != tt.ok {
			t.Errorf("surge %s, unavailable %s: %v", tt.surge, tt.unavailable, err)
		}
	}
}

// Upstream: TestMaxUnavailable, TestMinAvailable.
func TestMaxUnavailableIsCapped(t *testing.T) {
	for _, tt := range []struct {
		replicas    int
		unavailable IntOrPercent
		recreate    bool
		want, least int
	}{
		{10, Int(5), false, 5, 5}, {10, Int(10), false, 10, 0}, {5, Int(10), false, 5, 0},
		{0, Int(10), false, 0, 0}, {10, Percent(50), false, 5, 5}, {5, Percent(100), false, 5, 0}, {10, Int(5), true, 0, 0},
	} {
		s := Spec{Replicas: tt.replicas, Surge: Int(1), Unavailable: tt.unavailable, Recreate: tt.recreate}
		if got := s.MaxUnavailable(); got != tt.want || s.Least() != tt.least {
			t.Errorf("%+v: %d, least %d", tt, got, s.Least())
		}
	}
}

func ExampleFenceposts() {
	for _, replicas := range []int{1, 2, 3, 4, 10} {
		surge, unavailable := Fenceposts(replicas, Percent(25), Percent(25))
		fmt.Println(replicas, surge, unavailable)
	}
	// Output:
	// 1 1 0
	// 2 1 0
	// 3 1 0
	// 4 1 1
	// 10 3 2
}
