package deployment
import ("testing";"fmt";"pgregory.net/rapid";"time")
func TestTmp(t *testing.T){
 n,wr,ev:=0,0,0
 rapid.Check(t,func(t *rapid.T){ st:=drawHistory(t); sizes:=map[string]int{}; n++; for _,x:=range st{ if e,ok:=x.(Event);ok{ ev++; if o,k:=sizes[e.Name];!k||o!=e.Replicas {wr++}; sizes[e.Name]=e.Replicas}}})
 fmt.Println(n,wr,ev)
 // rollover floor search
 bad:=0; tot:=0
 b:=time.Now()
 for n:=1;n<=8;n++{ for _,f:=range [][2]IntOrPercent{{Percent(25),Percent(25)},{Int(1),Int(1)},{Int(2),Int(0)},{Int(0),Int(2)},{Percent(50),Percent(50)}}{
  s:=Spec{Replicas:n,Surge:f[0],Unavailable:f[1],Template:"v3"}
  for o1:=0;o1<=n;o1++{ for o2:=0;o1+o2<=s.Most();o2++{ for a2:=0;a2<=o2;a2++{
   if o1+a2 < s.Least() {continue}
   e:=Explore(s,Chaos{},ReplicaSet{Name:"v1",Created:1,Replicas:o1,Pods:o1,Available:o1},ReplicaSet{Name:"v2",Created:2,Replicas:o2,Pods:o2,Available:a2})
   tot++
   if e.Enumerated && (e.LeastAvailable<s.Least()||e.MostTotal>s.Most()) { bad++; if bad<6 {fmt.Println("BAD",n,f,o1,o2,a2,e.LeastAvailable,s.Least(),e.MostTotal,s.Most())}}
   if !e.Enumerated {fmt.Println("not enum",n,f,o1,o2)}
   if len(e.Ends)!=1 {fmt.Println("ENDS",n,f,o1,o2,a2,e.Ends)}
  }}}}}
 fmt.Println("rollovers",tot,"bad",bad,time.Since(b))
}
