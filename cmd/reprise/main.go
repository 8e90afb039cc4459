// Command reprise generates recordable stages from their definitions and trains,
// inspects and verifies the tasks that come with it.
package main

import "os"

func main() { os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr)) }
