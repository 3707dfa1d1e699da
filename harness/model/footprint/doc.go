// Package footprint says how much memory a replica of istiod takes for the proxies that
// are connected to it and the endpoints that it knows.
//
// There is no one law of its memory, but one for each question: what its heap holds once
// garbage is collected depends on what there is, and the most that was ever resident on
// how the proxies came, and on whether all of them were sent everything at once. So the
// laws have the same form and different coefficients:
//
//	base + a x endpoints + b x connections + c x connections x (endpoints that a proxy sees)^e
//
// The coefficients are no theory, nor is the exponent, 1, 3/4 or 1/2. They are fitted to
// measurements of real istiods that are committed with the package (Measurements), by
// least squares of relative errors, and
// a prediction is an interval for one more measurement of the same kind: same program,
// same settings, same kind of mesh (services of ten endpoints each). What the model says
// of another istiod or another mesh is an extrapolation, and Source says from where.
//
//	all, err := footprint.Measurements()
//	law, err := footprint.FitOf(footprint.Burst, all)
//	law.Predict(footprint.Load{Connections: 400, Endpoints: 2000, Visible: 2000}, 0.95)
package footprint
