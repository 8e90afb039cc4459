//go:build cuda

package cuda

// #include "reprise_driver.h"
import "C"

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"unsafe"

	"github.com/reprise-ml/reprise/gen/image/archive"
	"github.com/reprise-ml/reprise/gen/ir"
	"github.com/reprise-ml/reprise/runtime/device"
)

// Generated is the CUDA side of one stage of a generated package.
type Generated struct {
	Package string // import name of the generated package
	Stage   string
	Plan    string // digest of the plan
	Kernels string // digest of the CUDA and C text, which the kernel image must carry

	// Files holds the kernel image under the name Image, if one has been built.
	Files fs.FS
	Image string

	// Wrapper points at the struct reprise_stage that the package's C exports.
	Wrapper unsafe.Pointer
}

var registry struct {
	sync.Mutex
	byPlan map[string]Generated
}

// Register makes a generated stage known. Generated packages call it when the
// program starts. Packages generated from one plan are interchangeable; the
// first one serves.
func Register(g Generated) {
	registry.Lock()
	defer registry.Unlock()
	if registry.byPlan == nil {
		registry.byPlan = make(map[string]Generated)
	}
	if _, known := registry.byPlan[g.Plan]; !known {
		registry.byPlan[g.Plan] = g
	}
}

// find gives the generated stage of a plan.
func find(plan *ir.Stage) (Generated, error) {
	registry.Lock()
	g, known := registry.byPlan[plan.Digest]
	registry.Unlock()
	if !known {
		return Generated{}, &device.NotGeneratedError{Stage: plan.Name, Digest: plan.Digest}
	}
	return g, g.check(plan)
}

// check makes sure that the C of the package was written for this back end and
// this plan.
func (g Generated) check(plan *ir.Stage) error {
	w := g.wrapper()
	switch {
	case w.format != C.reprise_context_format:
		return fmt.Errorf("stage %s: package %s has wrappers of format %d, this version needs %d; run go generate again", g.Stage, g.Package, w.format, C.reprise_context_format)
	case C.GoString(w.plan) != plan.Digest:
		return fmt.Errorf("stage %s: the C of package %s is for plan %.12s, its Go for %.12s; run go generate again", g.Stage, g.Package, C.GoString(w.plan), plan.Digest)
	case int(w.storages) != len(plan.Storages), int(w.programs) != 2+len(plan.Backward):
		return fmt.Errorf("stage %s: the C of package %s has other tables than its plan; run go generate again", g.Stage, g.Package)
	}
	return nil
}

func (g Generated) wrapper() *C.struct_reprise_stage { return (*C.struct_reprise_stage)(g.Wrapper) }

// imageFolder is the environment variable that names a folder with kernel images,
// as reprise image -out writes them. One that is there is taken in place of the
// embedded one, so a program need not be built again for another device.
const imageFolder = "REPRISE_IMAGES"

// read gives the bytes of the kernel image.
func (g Generated) read() ([]byte, error) {
	if folder := os.Getenv(imageFolder); folder != "" {
		data, err := os.ReadFile(filepath.Join(folder, archive.Name(g.Kernels)))
		if !errors.Is(err, fs.ErrNotExist) {
			return data, err
		}
	}
	return fs.ReadFile(g.Files, g.Image)
}

// image reads the kernel image and checks that it was built from the source that
// the program was built from.
func (g Generated) image() (*archive.Image, error) {
	remedy := fmt.Sprintf("run reprise image on the folder of package %s, with nvcc in the path, and build again", g.Package)
	data, err := g.read()
	if err != nil {
		return nil, fmt.Errorf("stage %s: no kernel image %s was built; %s", g.Stage, g.Image, remedy)
	}
	image, err := archive.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("stage %s: kernel image %s: %w; %s", g.Stage, g.Image, err, remedy)
	}
	if image.Source != g.Kernels {
		return nil, fmt.Errorf("stage %s: kernel image %s was built from other source (%.12s) than this program (%.12s); %s", g.Stage, g.Image, image.Source, g.Kernels, remedy)
	}
	return image, nil
}

// lacks is the error of an image that was built without the kernels of a precision,
// or without those for tensors of more than 2^31 elements.
func (g Generated) lacks(precision string, wide bool) error {
	kernels, flags := precision+" kernels", "-precisions that name "+precision
	if wide {
		kernels, flags = kernels+" with 64-bit indices", flags+" and with -wide"
	}
	return fmt.Errorf("stage %s: kernel image %s of package %s has no %s; run reprise image on the folder of that package with %s, and build again", g.Stage, g.Image, g.Package, kernels, flags)
}
