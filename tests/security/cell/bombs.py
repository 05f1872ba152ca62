"""Bombs: programs that want all of something, or take their process down. Run by the tests in a cell and outside."""

from blobs.running.plan import DESCRIPTORS_MAX, SCRATCH_BYTES, SCRATCH_FILES, THREADS_MAX

MEMORY = {
    "one string": "x = bytes(1 << 29)",
    "many objects": "x = []\nfor _ in range(60_000): x.append([0] * 1000)",
    "an array": "import numpy as np\nx = np.ones(1 << 26)",
    "a number": "x = 1 << (1 << 32)",
    "a mapping": "import mmap\nx = mmap.mmap(-1, 1 << 29, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)",
    "a repetition": "x = ('a' * (1 << 20)) * (1 << 9)",
    "many small files in memory": "import io\nx = [io.BytesIO(bytes(1 << 20)) for _ in range(400)]",
    "a table": "import numpy as np\nx = np.arange(1 << 22).astype(str)",
    "many mappings": "x = [dict.fromkeys(range(100)) for _ in range(60_000)]",
    "an inflated archive": (
        "import zlib\nsmall = zlib.compress(bytes(1 << 20))\nx = [zlib.decompress(small) for _ in range(400)]"
    ),
}
"""Programs that take 400 MB and more, and end. In a cell they may have 200 MiB."""

LOOPS = {
    "a loop": "while True: pass",
    "a loop that catches all": "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "a long power": "x = 3 ** (10 ** 8); x = str(x ** 9)",
    "a pattern that backtracks": "import re\nre.match('(a+)+$', 'a' * 60 + 'b')",
    "an endless iterator": "import itertools\nsum(itertools.repeat(0))",
    "signals blocked": "import signal as s\ns.pthread_sigmask(s.SIG_BLOCK, range(1, 65))\nwhile True: pass",
    "a lock": "import threading\nx = threading.Lock(); x.acquire(); x.acquire()",
    "threads": "import threading as t\nf = lambda: sum(iter(int, 1))\nfor _ in 'abc': t.Thread(target=f).start()\nf()",
    "a flood of output": "while True: print('x' * 10000)",
}
"""Programs that do not end."""

COUNTS = {
    "threads": (
        (
            "import threading, time\nresult = 0\nthreading.stack_size(32768)\n"
            "try:\n    for _ in range(1000):\n        threading.Thread(target=time.sleep, args=(9,)).start()\n"
            "        result += 1\n"
            "except RuntimeError: pass"
        ),
        THREADS_MAX,
    ),
    "descriptors": (
        (
            "import os\nresult = 0\ntry:\n    for _ in range(5000): os.open('/dev/null', 0); result += 1\n"
            "except OSError: pass"
        ),
        DESCRIPTORS_MAX,
    ),
    "files": (
        "result = 0\ntry:\n    for i in range(20000): open(str(i), 'w').close(); result += 1\nexcept OSError: pass",
        SCRATCH_FILES,
    ),
    "bytes of files": (
        (
            "result = 0\ntry:\n    for i in range(9):\n        f = open(str(i), 'wb', buffering=0)\n"
            "        for _ in range(30): result += f.write(bytes(1 << 20))\nexcept OSError: pass"
        ),
        SCRATCH_BYTES,
    ),
    "bytes of one file": (
        (
            "import os\nresult = 0\ntry:\n    os.truncate(os.open('x', 66), 1 << 40); result = 1 << 40\n"
            "except OSError: pass"
        ),
        SCRATCH_BYTES,
    ),
}
"""Programs that take as many of something as they get, and leave the number in `result`; the most that it may be."""

CRASHES = {
    "recursion": "import sys\nsys.setrecursionlimit(10 ** 9)\nf = lambda: f()\nf()",
    "a deep list": "x = []\nfor _ in range(10 ** 6): x = [x]\nrepr(x)",
    "a deep expression": "eval('(' * 10 ** 5 + ')' * 10 ** 5)",
    "a null pointer": "import ctypes\nctypes.string_at(0)",
    "an abort": "import os\nos.abort()",
    "an exit": "import os\nos._exit(0)",
    "a signal": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\nwhile True: pass",
    "a wrong system call": "import ctypes\nctypes.CDLL(None).syscall(0x40000000 | 39)",
    "all descriptors closed": "import os\nos.closerange(0, 1000)",
    "a broken exception": (
        "class E(Exception):\n    def __str__(self): raise SystemExit\n    __repr__ = __str__\nraise E"
    ),
    "a broken error of ours": (
        "from blobs.domain.errors import BlobsError\ne = BlobsError(1)\ne.args = ()\ne.code = 5\nraise e"
    ),
}
"""Programs that end their process, or try to."""
