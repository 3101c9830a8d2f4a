// Decodes a reply of the extender as kube-scheduler does, but strictly, and writes it out again.
//
//	wire filter|prioritize < reply.json
//
// The scheduler itself ignores fields it does not know; here they are an error, so that a misspelt key cannot hide.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	extender "k8s.io/kube-scheduler/extender/v1"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string, in io.Reader, out io.Writer) error {
	if len(arguments) != 1 {
		return fmt.Errorf("usage: wire filter|prioritize")
	}
	var reply any
	switch arguments[0] {
	case "filter":
		reply = &extender.ExtenderFilterResult{}
	case "prioritize":
		reply = &extender.HostPriorityList{}
	default:
		return fmt.Errorf("no such verb: %s", arguments[0])
	}
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(reply); err != nil {
		return err
	}
	if decoder.More() {
		return fmt.Errorf("something follows the reply")
	}
	return json.NewEncoder(out).Encode(reply)
}
