// Package templates holds the CUDA and C text of the project and prints, for
// the plan of a stage, the kernels that it needs and the wrapper that launches
// them.
//
// The device code lies in cuda/: one file per family of kernels, templates over
// storage type, index type and the constants of a shape class. Kernels prints
// the files that a stage needs followed by one instantiation for each distinct
// set of constants, so two layers of one shape share a kernel. Wrapper prints
// the host side from wrap/, written against the CUDA driver API.
//
// Both come from one table: Launches gives, for each operation of a plan, its
// kernel launches with grid, block and scratch memory as expressions in the
// sizes of a call. The same expressions are printed into the C text and can be
// evaluated here, so a manifest cannot disagree with what is launched.
//
// Output depends on the plan alone: no dates, no paths, sorted, LF line ends.
package templates
