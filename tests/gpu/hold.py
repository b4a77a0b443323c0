#!/usr/bin/env python3
"""Holds GPU memory through libcuda until it is told to end: what an engine's weights are to the tests of tests/gpu/run.sh.

    hold.py MIB [SECONDS]

Needs the driver's library alone. Prints `held` when the memory is there; ends with 1 and the words of an engine when it is not.
"""
import ctypes
import signal
import sys
import threading


def fail(what, code):
    if code == 2:
        print(f"torch.OutOfMemoryError: CUDA out of memory. {what} gave {code}", flush=True)
    else:
        print(f"RuntimeError: CUDA error: {what} gave {code}", flush=True)
    sys.exit(1)


def main():
    mib = int(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else None
    ended = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: ended.set())
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *args):
        code = getattr(cuda, name)(*args)
        if code != 0:
            fail(name, code)

    device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    call("cuInit", 0)
    # the first of CUDA_VISIBLE_DEVICES
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    if mib > 0:
        size = ctypes.c_size_t(mib << 20)
        call("cuMemAlloc_v2", ctypes.byref(memory), size)
        call("cuMemsetD8_v2", memory, ctypes.c_ubyte(1), size)
        call("cuCtxSynchronize")
    print("held", flush=True)
    ended.wait(seconds)


if __name__ == "__main__":
    main()
