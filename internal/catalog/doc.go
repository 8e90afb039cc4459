// Package catalog lists the tasks that ship with the project and fits their
// definitions and objectives to the commands.
package catalog
