package deployment
import ("testing";"fmt";"math/rand/v2")
func TestTmp(t *testing.T){
 low,high,n:=0,0,0
 for seed:=uint64(0);seed<20000;seed++{
  r:=rand.New(rand.NewPCG(seed,3)); nn:=1+r.IntN(10)
  s:=Spec{Replicas:nn,Surge:Percent(25),Unavailable:Percent(25),Template:"v2"}
  w:=&lagging{rand:r}; w.setSpec(s)
  w.store(ReplicaSet{Name:"v1",Created:1,Replicas:nn,Pods:nn,Available:nn,Desired:nn,Max:s.Most()})
  roll:=seed%2==1
  bad:=false; badh:=false
  for i:=0;i<400;i++{
   switch { case w.between(0,9)<6: 
     a:=w.sets[w.between(0,len(w.sets)-1)]; b:=a
     switch { case a.Pods>a.Replicas: a.Pods--; a.Available=min(a.Available,a.Pods); case a.Pods<a.Replicas: a.Pods++; case a.Available<a.Pods: a.Available++}
     if a!=b {w.store(a)}
   case len(w.pending)>0: w.writeOne()
   default: w.startPass()}
   if roll && i==100 { s.Template="v3"; w.setSpec(s)}
   av,tot:=0,0; for _,x:=range w.sets{av+=x.Available;tot+=x.Replicas}
   if av<s.Least() {bad=true}; if tot>s.Most(){badh=true}
  }
  n++; if bad {low++; if low<3 {fmt.Println("low",seed,nn,roll)}}; if badh {high++; if high<3 {fmt.Println("high",seed,nn,roll)}}
 }
 fmt.Println(n,"floor broken",low,"ceiling broken",high)
}
