# Two targets need nothing but Go: demo and test.
GO ?= go
CUDA ?= /usr/local/cuda
C_FILES = $(shell git ls-files '*.c' '*.h' '*.cu' '*.cuh' '*.cc' | grep -v testdata)
SAMPLES ?= $(REPRISE_SAMPLES)
.PHONY: demo test test-cuda test-overfit test-samples test-mutation fuzz generate check lint bench cuda

demo: ## train the test-scale network natively and replayed and compare every byte
	$(GO) run ./cmd/reprise demo -out demo

test: ## all tests that need no GPU
	$(GO) test ./...

test-cuda: ## the CUDA back end on the simulated driver, without a GPU
	internal/cudasim/test.sh

test-overfit: ## each task learns sixteen scenes by heart; half an hour of two cores, results in runs/overfit
	$(GO) test -run Overfit -v -timeout 3h ./internal/overfit -overfit $(CURDIR)/runs/overfit

test-samples: ## fits on real images are the same in every way of recording; SAMPLES is the folder of coco8, coco8-pose, coco8-seg and dota8
	REPRISE_SAMPLES=$(abspath $(SAMPLES)) $(GO) test -run Samples -v -timeout 3h ./internal/contract

test-mutation: ## take each mechanism away and see its test fail; half an hour of two cores
	$(GO) test -run 'TestEvery.*Fails' -v -timeout 3h ./internal/mutation -mutation

fuzz: ## every fuzz target of all packages, one after another, for FUZZTIME (10m) each
	internal/fuzz/run.sh

pack-gpu: ## an archive of everything that a machine with a GPU, without Go, tests and measures
	internal/gputest/pack.sh gpu.tar.xz

generate: ## write all generated packages anew
	$(GO) generate ./...

check: ## fail when a generated package is stale
	$(GO) run ./cmd/reprise gen -check ./tasks/detect ./tasks/obb ./tasks/pose ./tasks/segment
	for t in detect obb pose segment; do $(GO) run ./cmd/reprise gen -check -out generated/optimizer/$$t ./tasks/musgd/$$t || exit 1; done
	for d in $$(find internal/testscale -name definition | sort); do $(GO) run ./cmd/reprise gen -check -out $$d/.. ./$$d || exit 1; done

lint: ## formatting, vet, staticcheck, and clang-format for C and CUDA
	test -z "$$(gofmt -l $$(git ls-files '*.go'))" && $(GO) vet ./...
	$(GO) run honnef.co/go/tools/cmd/staticcheck ./...
	@echo $(C_FILES) | xargs -n 8 -P $$(nproc) clang-format-19 --dry-run -Werror

bench: ## speed of the host back end
	$(GO) test -run '^$$' -bench . -benchtime 3x ./runtime/host ./internal/optim ./tasks/obb/objective

cuda: ## compile all kernels and build everything with the CUDA back end; needs nvcc and the CUDA headers
	$(GO) run ./cmd/reprise image $$(find generated -name "*_gen.cu" -printf "%h\n" | sort -u)
	CGO_CFLAGS="-I$(CURDIR)/runtime/cuda/compat -I$(CUDA)/include" CGO_LDFLAGS=-L$(CUDA)/lib64/stubs $(GO) build -tags cuda ./...
