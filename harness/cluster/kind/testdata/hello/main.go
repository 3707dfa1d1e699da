// Command hello answers requests, once it has found the API server by name.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		name, _ := os.Hostname()
		fmt.Fprintln(w, "hello from", name)
	})
	http.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) {
		if _, err := net.LookupHost("kubernetes.default.svc.cluster.local"); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	if err := http.ListenAndServe(":8080", nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
