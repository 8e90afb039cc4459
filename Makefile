# Two targets need nothing but Go: demo and test.
GO ?= go
CUDA ?= /usr/local/cuda
C_FILES = $(shell git ls-files '*.c' '*.h' '*.cu' '*.cuh' '*.cc' | grep -v testdata)
.PHONY: demo test test-cuda generate check lint bench cuda

demo: ## train the test-scale network natively and replayed and compare every byte
	$(GO) run ./cmd/reprise demo -out demo

test: ## all tests that need no GPU
	$(GO) test ./...

test-cuda: ## the CUDA back end on the simulated driver, without a GPU
	internal/cudasim/test.sh

generate: ## write all generated packages anew
	$(GO) generate ./...

check: ## fail when a generated package is stale
	$(GO) run ./cmd/reprise gen -check ./tasks/detect ./tasks/obb ./tasks/pose ./tasks/segment
	for t in detect obb pose segment; do $(GO) run ./cmd/reprise gen -check -out generated/optimizer/$$t ./tasks/musgd/$$t || exit 1; done
	for d in $$(find internal/testscale -name definition | sort); do $(GO) run ./cmd/reprise gen -check -out $$d/.. ./$$d || exit 1; done

lint: ## formatting, vet, staticcheck, and clang-format for C and CUDA
	test -z "$$(gofmt -l $$(git ls-files '*.go'))" && $(GO) vet ./...
	$(GO) run honnef.co/go/tools/cmd/staticcheck ./...
	@clang-format-19 --dry-run -Werror $(C_FILES)

bench: ## speed of the host back end
	$(GO) test -run '^$$' -bench . -benchtime 3x ./runtime/host ./internal/optim ./tasks/obb/objective

cuda: ## compile all kernels and build everything with the CUDA back end; needs nvcc and the CUDA headers
	$(GO) run ./cmd/reprise image $$(find generated -name "*_gen.cu" -printf "%h\n" | sort -u)
	CGO_CFLAGS="-I$(CURDIR)/runtime/cuda/compat -I$(CUDA)/include" CGO_LDFLAGS=-L$(CUDA)/lib64/stubs $(GO) build -tags cuda ./...
