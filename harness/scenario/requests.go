package scenario

// Requests are the parameters of scenarios that send requests to their workload
// where pods can be reached. Elsewhere they mean nothing.
type Requests struct {
	Rate        int      `json:"rate" min:"0" max:"2000" doc:"requests a second to the workload, where pods are real; 0: none"`
	Concurrency int      `json:"concurrency" min:"0" max:"1000" doc:"requests that a pod serves at once, where pods are real; it refuses more; 0: any number"`
	Work        Duration `json:"work" doc:"how long a pod works on a request, where pods are real"`
}
