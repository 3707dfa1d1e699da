package rollback
import ("testing";"fmt";"encoding/json";"reckon.dev/reckon/harness/model/rollouts")
func TestZZ(t *testing.T){
 for _, v := range []string{"v1.7.2","v1.8.2","v1.8.3","v1.9.2","v1.10.1"} {
 for _, routing := range []string{"services","subsets"} {
 for _, dyn := range []bool{false,true} {
 for _, win := range []int{0,3} {
 for _, n := range []int{0,1,4,20} {
 for _, min := range []int{0,1,2,4} {
 for _, old := range []string{"gone","running"} {
 for _, steps := range []string{`[]`,`[100]`,`[5,"pause",100]`,`[5,100,"pause"]`,`[50,20]`,`[0]`,`[{"setCanaryScale":{"replicas":1}},5,"pause"]`,`[{"setCanaryScale":{"replicas":0}},"pause"]`,`[{"setCanaryScale":{"weight":10}},100]`,`["pause forever",20]`,`[{"setCanaryScale":{"replicas":1}},100]`} {
  p := DefaultParams(); p.Replicas=n; p.MinPodsPerReplicaSet=min; p.Routing=routing; p.DynamicStableScale=dyn; p.RollbackWindow=win; p.OldReplicaSet=old
  if old=="running" { p.ScaleDownDelay=30 }
  p.Steps=nil
  if err := json.Unmarshal([]byte(steps), &p.Steps); err != nil { t.Fatal(err) }
  if p.Check(v) != nil { continue }
  tr, _, _ := p.Model(v, rollouts.RollbackOptions{})
  if tr.Invalid != "" { fmt.Println("INVALID", v, routing, dyn, win, n, min, old, steps, tr.Invalid) } else if tr.Final().Stable != "v1" { fmt.Println("NEVER", v, routing, dyn, win, n, min, old, steps, tr.Final(), tr.Errors()) }
 }}}}}}}}
}
