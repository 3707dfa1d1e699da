// Package mesh says how the connections of a mesh's proxies spread over the replicas of
// istiod: how uneven they get when replicas leave or come, when they are even again, and
// how often they reconnect. Closed forms answer at once; a simulator of every connection
// gives the spread that a single run has.
//
// A proxy keeps one stream to one replica, chosen uniformly among those that are Ready
// when it connects, or that rules of a Service lead to, which lag. Nothing moves a stream but its end: the server's maximum age, or the
// end of its replica.
//
//	loss := mesh.MassLoss{Connections: 862, Replicas: 24, Lost: 19, Back: 19, Lifetime: mesh.Lifetime{Age: 15 * time.Minute, Grace: mesh.WaitsForCut}}
//	loss.Peak()     // 1.95: the coefficient of variation once the replacements are Ready
//	loss.DeadTime() // 13m41s: until then next to nothing moves
//
//	bands, err := mesh.Simulate(ctx, plan, 1000, 1)
//	outcome, err := bands.Check(mesh.CoV, observed)
//
// CoV is the coefficient of variation of the connections per replica: population standard
// deviation over mean, over the replicas that are Ready, those without connections
// included. It is a ratio: 1.465 is 146.5 %. It says nothing while few replicas are
// Ready: after a mass loss the survivors are even, and the unevenness shows when their
// replacements become Ready. Read it beside the number of Ready replicas and of
// connections.
//
// Predict with the times at which replicas were seen Ready, not with those of the
// commands that started them, and with the request limit in force: both change the curve.
//
// Not modelled: topology hints, several streams of one proxy, and what a reconnect costs the replica.
package mesh
