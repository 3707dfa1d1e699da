package mesh_test

import (
	"context"
	"fmt"
	"time"

	"reckon.dev/reckon/harness/model/mesh"
)

// Six of eight replicas are killed, and their replacements are Ready 15 s later.
func Example() {
	loss := mesh.MassLoss{
		Connections: 400, Replicas: 8, Lost: 6, Back: 6, ReadyAfter: 15 * time.Second,
		Lifetime: mesh.Lifetime{Age: time.Minute, Grace: mesh.WaitsForCut},
	}
	dead, _ := loss.DeadTime()
	fmt.Printf("peak %.0f %%, floor %.1f %%, nothing moves for %v\n", 100*loss.Peak(), 100*loss.Fleet().Floor(), dead)

	plan := loss.Plan(mesh.Cut())
	plan.RequestLimit = mesh.RequestLimit(1)
	bands, err := mesh.Simulate(context.Background(), plan, 200, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	band := bands.Curve(mesh.CoV)[60]
	even, _ := bands.Even.Quantile(0.5)
	fmt.Printf("%v: %.0f to %.0f %%; even again at %.0f s\n", band.At, 100*band.Low, 100*band.High, even)
	// Output:
	// peak 173 %, floor 13.2 %, nothing moves for 1m5s
	// 1m0s: 140 to 151 %; even again at 81 s
}
