#!/usr/bin/env python3
"""Measures the networks of this project in PyTorch.

The networks are written here from the YOLO26 network specification. For each way
of running a training step (forward and backward with given cotangents, without
objective and optimizer) one line of JSON is printed, with the keys of
`reprise bench stage -json`:

  eager            module by module
  channels_last    eager, with maps in channels-last memory
  graph            channels_last, captured as two CUDA graphs
  compile          torch.compile, channels-last memory
  compile_graph    torch.compile, captured as two CUDA graphs

Weights, gradients and statistics are FP32; in bf16 and fp16 activations are cast
by autocast, and FP32 is true FP32. `--check` needs no GPU: it compares the number
of parameters of every network with the specification (section 10).
"""

import argparse
import contextlib
import gc
import json
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional

SCALES = {"n": (0.50, 0.25, 1024), "s": (0.50, 0.50, 1024), "m": (0.50, 1.00, 512), "l": (1.00, 1.00, 512), "x": (1.00, 1.50, 512)}
TASKS = {"detect": (80, 640), "obb": (15, 1024), "pose": (1, 640), "segment": (80, 640)}
KEYPOINTS, PROTOTYPES = 17, 32
WAYS = ["eager", "channels_last", "graph", "compile", "compile_graph"]

# Network section 10: parameters of the whole trained model, n, s, m, l, x.
PARAMETERS = {
    "detect": (2437552, 9609632, 20132032, 24363712, 54672216),
    "segment": (2717284, 10665440, 23374848, 27606528, 61899656),
    "pose": (2524346, 9935784, 20685256, 24916936, 55899158),
    "obb": (2563976, 10120782, 21009774, 25241454, 56652248),
}


def conv(inputs, outputs, kernel=1, stride=1, groups=1, activation=True):
    """Convolution, batch norm and, unless told otherwise, SiLU (section 1)."""
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([nn.SiLU()] if activation else []))


class Bottleneck(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.cv1, self.cv2 = conv(channels, channels, 3), conv(channels, channels, 3)

    def forward(self, x):
        return x + self.cv2(self.cv1(x))


class C3k(nn.Module):
    def __init__(self, channels, repeats):
        super().__init__()
        half = channels // 2
        self.cv1, self.cv2, self.cv3 = conv(channels, half), conv(channels, half), conv(2 * half, channels)
        self.blocks = nn.Sequential(*[Bottleneck(half) for _ in range(repeats)])

    def forward(self, x):
        return self.cv3(torch.cat([self.blocks(self.cv1(x)), self.cv2(x)], 1))


class C3k2(nn.Module):
    def __init__(self, inputs, outputs, repeats, ratio, inner):
        super().__init__()
        half = int(outputs * ratio)
        kinds = {
            "plain": lambda: Bottleneck(half),
            "nested": lambda: C3k(half, 1),
            "attention": lambda: nn.Sequential(C3k(half, 2), PSABlock(half)),
        }
        self.cv1, self.cv2 = conv(inputs, 2 * half), conv((2 + repeats) * half, outputs)
        self.blocks = nn.ModuleList(kinds[inner]() for _ in range(repeats))

    def forward(self, x):
        maps = list(self.cv1(x).chunk(2, 1))
        for block in self.blocks:
            maps.append(block(maps[-1]))
        return self.cv2(torch.cat(maps, 1))


class SPPF(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.cv1, self.cv2 = conv(channels, channels // 2), conv(channels // 2 * 4, channels)

    def forward(self, x):
        maps = [self.cv1(x)]
        for _ in range(3):
            maps.append(functional.max_pool2d(maps[-1], 5, 1, 2))
        return x + self.cv2(torch.cat(maps, 1))


class Attention(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.heads = max(1, channels // 64)
        self.values = channels // self.heads
        self.keys = self.values // 2
        self.qkv = conv(channels, self.heads * (2 * self.keys + self.values), activation=False)
        self.pe = conv(channels, channels, 3, groups=channels, activation=False)
        self.proj = conv(channels, channels, activation=False)

    def forward(self, x):
        n, c, h, w = x.shape
        t = self.qkv(x).reshape(n, self.heads, 2 * self.keys + self.values, h * w)
        q, k, v = t.split([self.keys, self.keys, self.values], 2)
        p = (q.transpose(2, 3) @ k * self.keys**-0.5).softmax(-1)
        o = (v @ p.transpose(2, 3)).reshape(n, c, h, w)
        return self.proj(o + self.pe(v.reshape(n, c, h, w)))


class PSABlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.attn = Attention(channels)
        self.ffn = nn.Sequential(conv(channels, 2 * channels), conv(2 * channels, channels, activation=False))

    def forward(self, x):
        x = x + self.attn(x)
        return x + self.ffn(x)


class C2PSA(nn.Module):
    def __init__(self, channels, repeats):
        super().__init__()
        half = channels // 2
        self.cv1, self.cv2 = conv(channels, 2 * half), conv(2 * half, channels)
        self.blocks = nn.Sequential(*[PSABlock(half) for _ in range(repeats)])

    def forward(self, x):
        a, b = self.cv1(x).chunk(2, 1)
        return self.cv2(torch.cat([a, self.blocks(b)], 1))


class Features(nn.Module):
    """Backbone and neck (sections 4 and 5): maps of strides 8, 16 and 32."""

    def __init__(self, scale):
        super().__init__()
        depth, width, cap = SCALES[scale]
        c64, c128, c256, c512, c1024 = (int(min(c, cap) * width) for c in (64, 128, 256, 512, 1024))
        r = max(1, round(2 * depth))
        self.p3 = nn.Sequential(
            conv(3, c64, 3, 2), conv(c64, c128, 3, 2), C3k2(c128, c256, r, 0.25, "plain"),
            conv(c256, c256, 3, 2), C3k2(c256, c512, r, 0.25, "plain"))
        self.p4 = nn.Sequential(conv(c512, c512, 3, 2), C3k2(c512, c512, r, 0.5, "nested"))
        self.p5 = nn.Sequential(conv(c512, c1024, 3, 2), C3k2(c1024, c1024, r, 0.5, "nested"), SPPF(c1024), C2PSA(c1024, r))
        self.top_down_p4 = C3k2(c1024 + c512, c512, r, 0.5, "nested")
        self.top_down_p3 = C3k2(c512 + c512, c256, r, 0.5, "plain")
        self.down_n3, self.down_n4 = conv(c256, c256, 3, 2), conv(c512, c512, 3, 2)
        self.bottom_up_p4 = C3k2(c256 + c512, c512, r, 0.5, "plain")
        self.bottom_up_p5 = C3k2(c512 + c1024, c1024, 1, 0.5, "attention")
        self.widths = (c256, c512, c1024)

    def forward(self, x):
        p3 = self.p3(x)
        p4 = self.p4(p3)
        p5 = self.p5(p4)
        t4 = self.top_down_p4(torch.cat([functional.interpolate(p5, scale_factor=2.0), p4], 1))
        n3 = self.top_down_p3(torch.cat([functional.interpolate(t4, scale_factor=2.0), p3], 1))
        n4 = self.bottom_up_p4(torch.cat([self.down_n3(n3), t4], 1))
        n5 = self.bottom_up_p5(torch.cat([self.down_n4(n4), p5], 1))
        return n3, n4, n5


def stem(channels, hidden, outputs):
    """One output of one level (section 7.1)."""
    return nn.Sequential(
        conv(channels, channels, 3, groups=channels), conv(channels, hidden),
        conv(hidden, hidden, 3, groups=hidden), conv(hidden, hidden), nn.Conv2d(hidden, outputs, 1))


class Branch(nn.Module):
    def __init__(self, task, widths, classes):
        super().__init__()
        outputs = {"box": 4, "cls": classes}
        outputs.update({"segment": {"coeff": PROTOTYPES}, "obb": {"angle": 1}, "pose": {"keypoint": 4 * KEYPOINTS}}.get(task, {}))
        self.names = list(outputs)
        self.stems = nn.ModuleDict({
            name: nn.ModuleList(stem(c, max(16, c // (2 if name == "angle" else 3)), n) for c in widths) for name, n in outputs.items()})

    def forward(self, maps):
        out = []
        for name in self.names:
            y = torch.cat([s(m).flatten(2).transpose(1, 2) for s, m in zip(self.stems[name], maps)], 1)
            out.append(y.tanh() if name == "coeff" else y)
        return out


class Network(nn.Module):
    """The whole network of a task in training (section 7)."""

    def __init__(self, task, scale, classes):
        super().__init__()
        self.features = Features(scale)
        widths = self.features.widths
        self.o2o, self.o2m = Branch(task, widths, classes), Branch(task, widths, classes)
        self.segment = task == "segment"
        if self.segment:
            c = widths[0]
            self.projections = nn.ModuleList(nn.Conv2d(w, c, 1) for w in widths[1:])
            self.before = nn.Sequential(conv(c, c, 3), conv(c, c, 3), conv(c, c, 3))
            self.after = nn.Sequential(conv(c, c, 3), nn.Conv2d(c, PROTOTYPES, 1))
            self.semantic = nn.Conv2d(c, classes, 1)

    def forward(self, x):
        maps = self.features(x)
        out = self.o2m(maps) + self.o2o(maps)
        if self.segment:
            fused = maps[0]
            for projection, m in zip(self.projections, maps[1:]):
                fused = fused + functional.interpolate(projection(m), size=maps[0].shape[2:])
            out += [self.after(functional.interpolate(self.before(fused), scale_factor=2.0)), self.semantic(fused)]
        return tuple(out)


def check():
    """Compares all parameter counts with the specification."""
    wrong = 0
    for task, counts in PARAMETERS.items():
        for scale, want in zip("nsmlx", counts):
            network = Network(task, scale, TASKS[task][0])
            got = sum(p.numel() for p in network.parameters())
            if got != want:
                wrong += 1
                print(f"{task} {scale}: {got} parameters, {want} are specified", file=sys.stderr)
        with torch.no_grad():
            shapes = [tuple(y.shape) for y in Network(task, "n", TASKS[task][0])(torch.rand(2, 3, 64, 96))]
        print(f"{task}: outputs {shapes}")
    print(f"{4 * 5 - wrong} of {4 * 5} parameter counts are those of the specification")
    return wrong == 0


class Step:
    """A training step of a module: forward() and backward() issue its work."""

    def __init__(self, module, x, precision, compiled, captured):
        self.module = torch.compile(module) if compiled else module
        self.parameters = list(module.parameters())
        self.x = x
        dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
        # The cache of cast weights would outlive a capture.
        self.cast = (lambda: torch.autocast("cuda", dtype, cache_enabled=not captured)) if dtype else contextlib.nullcontext
        self.outputs = self.gradients = self.cotangents = None
        self.graphs = self.capture() if captured else None

    def issue_forward(self):
        with self.cast():
            self.outputs = self.module(self.x)
        if self.cotangents is None:
            self.cotangents = [torch.rand_like(y) * 2e-3 - 1e-3 for y in self.outputs]

    def issue_backward(self):
        self.gradients = torch.autograd.grad(self.outputs, self.parameters, self.cotangents)

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.issue_forward()
                self.issue_backward()
        torch.cuda.current_stream().wait_stream(side)
        self.outputs = self.gradients = None
        graphs = [torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()]
        with torch.cuda.graph(graphs[0]):
            self.issue_forward()
        with torch.cuda.graph(graphs[1], pool=graphs[0].pool()):
            self.issue_backward()
        return graphs

    def forward(self):
        self.graphs[0].replay() if self.graphs else self.issue_forward()

    def backward(self):
        self.graphs[1].replay() if self.graphs else self.issue_backward()


def measure(step, warmup, steps):
    """Medians of device and host times in milliseconds: the host's part of steps on
    an idle device, the device's part of steps in a row."""
    dispatch = []
    for _ in range(warmup + steps):
        torch.cuda.synchronize()
        start = time.perf_counter()
        step.forward()
        step.backward()
        dispatch.append((time.perf_counter() - start) * 1e3)
    torch.cuda.synchronize()
    marks = [[torch.cuda.Event(enable_timing=True) for _ in range(3)] for _ in range(warmup + steps)]
    for begin, middle, end in marks:
        begin.record()
        step.forward()
        middle.record()
        step.backward()
        end.record()
    torch.cuda.synchronize()
    times = [(a.elapsed_time(b), b.elapsed_time(c), a.elapsed_time(c)) for a, b, c in marks[warmup:]]
    return [statistics.median(column) for column in zip(*times)] + [statistics.median(dispatch[warmup:])]


def run(way, arguments):
    """Builds the network and gives the line of one way."""
    torch._dynamo.reset()
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.manual_seed(1)
    height, width = arguments.size
    module = Network(arguments.task, arguments.scale, TASKS[arguments.task][0])
    if arguments.stage == "features":
        module = module.features
    layout = torch.contiguous_format if way == "eager" else torch.channels_last
    module = module.cuda().train().to(memory_format=layout)
    x = torch.rand(arguments.batch, 3, height, width, device="cuda").contiguous(memory_format=layout)
    compiled, captured = way.startswith("compile"), way.endswith("graph")
    start = time.perf_counter()
    step = Step(module, x, arguments.precision, compiled, captured)
    record = (time.perf_counter() - start) * 1e3 if captured else None
    forward, backward, both, dispatch = measure(step, arguments.warmup, arguments.steps)
    return {
        "implementation": f"torch {torch.__version__}", "task": arguments.task, "scale": arguments.scale, "stage": arguments.stage,
        "batch": arguments.batch, "height": height, "width": width, "precision": arguments.precision,
        "device": torch.cuda.get_device_name(), "mode": way,
        "forward_ms": forward, "backward_ms": backward, "both_ms": both, "dispatch_ms": dispatch,
        "kernel_launches": None, "graph_launches": 2 if captured else 0, "nodes": None, "load_ms": None, "record_ms": record,
        "peak_allocated_bytes": torch.cuda.max_memory_allocated(), "peak_reserved_bytes": torch.cuda.max_memory_reserved(),
        "bytes_per_second": None, "flops": None,
    }


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=sorted(TASKS), default="obb")
    parser.add_argument("--scale", choices=list(SCALES), default="n")
    parser.add_argument("--stage", choices=["network", "features"], help="default: features for pose and segment")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--size", help="pixels: one number, or HEIGHTxWIDTH (default: that of the published counts)")
    parser.add_argument("--precision", choices=["fp32", "fp16", "bf16"], default="bf16")
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--ways", default=",".join(WAYS), help="some of " + ", ".join(WAYS))
    parser.add_argument("--check", action="store_true", help="compare parameter counts with the specification, without a GPU")
    arguments = parser.parse_args()
    size = (arguments.size or str(TASKS[arguments.task][1])).split("x")
    if len(size) > 2 or not all(s.isdigit() and int(s) > 0 and int(s) % 32 == 0 for s in size):
        parser.error(f"--size {arguments.size} is no size; give multiples of 32, such as 1024 or 640x1024")
    arguments.size = (int(size[0]), int(size[-1]))
    arguments.stage = arguments.stage or ("features" if arguments.task in ("pose", "segment") else "network")
    arguments.ways = arguments.ways.split(",")
    for way in arguments.ways:
        if way not in WAYS:
            parser.error(f"--ways has {way}; use some of {', '.join(WAYS)}")
    return arguments


def main():
    arguments = parse()
    if arguments.check:
        return 0 if check() else 1
    if not torch.cuda.is_available():
        print("there is no CUDA device for PyTorch; use --check without one", file=sys.stderr)
        return 1
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    failed = 0
    for way in arguments.ways:
        try:
            print(json.dumps(run(way, arguments)), flush=True)
        except Exception as error:  # one way must not hide the others
            failed = 1
            print(f"{way}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
