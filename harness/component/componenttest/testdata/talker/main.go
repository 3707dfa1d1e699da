// talker writes numbered lines to both of its streams, and ends.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	pause, _ := time.ParseDuration(os.Args[2])
	code, _ := strconv.Atoi(os.Args[3])
	for i := range n {
		fmt.Println("line", i)
		time.Sleep(pause)
	}
	fmt.Print("the last line has no end")
	os.Exit(code)
}
