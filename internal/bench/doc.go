// Package bench measures a recordable stage on a device, natively and replayed:
// device time of the forward and the backward program, host time of issuing
// them, launches, memory, and the rates that follow from the plan.
package bench
