"""Attacks on the surface of the kernel: calls that a cell has no use for, memory that runs."""

from tests.security.cell.attack import Attack

KERNEL = [
    Attack("io_uring", "evidence = call('io_uring_setup', 1, ctypes.create_string_buffer(120))", works_outside=False),
    Attack(
        "a program for the kernel",
        "evidence = call('bpf', 5, ctypes.create_string_buffer(128), 128)",
        works_outside=False,
    ),
    Attack("handle page faults", "evidence = call('userfaultfd', 1)"),
    Attack(
        "watch performance",
        "evidence = call('perf_event_open', ctypes.create_string_buffer(128), 0, -1, -1, 0)",
        works_outside=False,
    ),
    Attack("use the key ring", "evidence = call('keyctl', 0, -3, 1)"),
    Attack("watch files", "evidence = call('inotify_init1', 0)"),
    Attack("watch all files", "evidence = call('fanotify_init', 0, 0)", works_outside=False),
    Attack(
        "move pages",
        "evidence = 1 + call('vmsplice', os.pipe()[1], (ctypes.c_ulong * 2)(ctypes.addressof(ctypes.create_string_buffer(8)), 8), 1, 0)",
    ),
    Attack(
        "executable memory",
        "import mmap\nevidence = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)",
    ),
    Attack(
        "make memory executable",
        "import mmap\nm = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); a = ctypes.addressof(ctypes.c_char.from_buffer(m)); call('mprotect', a, 4096, 5); evidence = 1",
    ),
    Attack(
        "execute a file of my own",
        "import mmap\nopen('code', 'wb').write(b'\\xc3' * 4096); f = os.open('code', os.O_RDONLY); evidence = mmap.mmap(f, 4096, flags=mmap.MAP_PRIVATE, prot=5)",
        works_outside=False,
    ),
    Attack("memory that is not counted", "import mmap\nevidence = len(mmap.mmap(-1, 1 << 20))"),
    Attack(
        "lock memory",
        "call('mlock', ctypes.addressof(ctypes.create_string_buffer(8192)), 4096); evidence = 1",
        works_outside=False,
    ),
    Attack("enlarge a pipe", "import fcntl\nevidence = fcntl.fcntl(os.pipe()[1], 1031, 1 << 20)"),
    Attack(
        "a Landlock rule of my own",
        "evidence = call('landlock_create_ruleset', ctypes.c_char_p(b'\\x01' + b'\\0' * 7), 8, 0)",
    ),
    Attack("type for the user", "import fcntl\nfcntl.ioctl(0, 0x5412, b'x'); evidence = 1", works_outside=False),
    Attack("reach into the machine", "evidence = 1 + call('iopl', 3)", works_outside=False),
    Attack("load a module", "evidence = 1 + call('finit_module', 0, b'', 0)", works_outside=False),
    Attack("keys for protected memory", "evidence = call('pkey_alloc', 0, 0) or 1", works_outside=False),
    Attack(
        "which pages are in memory",
        "import mmap\nm = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); a = ctypes.addressof(ctypes.c_char.from_buffer(m)); evidence = 1 + call('mincore', a, 4096, ctypes.create_string_buffer(1))",
    ),
    Attack(
        "which pages of the blob are cached",
        "evidence = 1 + call('cachestat', os.open(files['blob'], os.O_RDONLY), ctypes.create_string_buffer(16), ctypes.create_string_buffer(40), 0)",
        works_outside=False,
    ),
    Attack("place memory", "evidence = 1 + call('set_mempolicy', 0, 0, 0)", works_outside=False),
    Attack("move pages of memory", "evidence = 1 + call('move_pages', 0, 0, 0, 0, 0, 0)", works_outside=False),
    Attack("remap pages", "evidence = 1 + call('remap_file_pages', 0, 0, 0, 0, 0)", works_outside=False),
    Attack("list mounts by call", "evidence = 1 + call('listmount', 0, 0, 0, 0)", works_outside=False),
    Attack(
        "list security modules",
        "evidence = 1 + call('lsm_list_modules', 0, ctypes.create_string_buffer(8), 0)",
        works_outside=False,
    ),
    Attack(
        "the kernel's log",
        "b = ctypes.create_string_buffer(100); evidence = call('syslog', 3, b, 100)",
        works_outside=False,
    ),
    Attack("the kernel's log size", "evidence = call('syslog', 10, 0, 0)", works_outside=False),
    Attack("a key of my own", "evidence = call('add_key', b'user', b'x', b'y', 1, -3)"),
    Attack("ask for a key", "evidence = call('request_key', b'user', b'x', 0, -3)", works_outside=False),
    Attack("load another kernel", "evidence = 1 + call('kexec_load', 0, 0, 0, 0)", works_outside=False),
    Attack("unload a module", "evidence = 1 + call('delete_module', b'x', 0)", works_outside=False),
    Attack("swap", "evidence = 1 + call('swapon', b'x', 0)", works_outside=False),
    Attack("account processes", "evidence = 1 + call('acct', 0)", works_outside=False),
    Attack("ask for quotas", "evidence = 1 + call('quotactl', 0x800001, 0, 0, 0)", works_outside=False),
    Attack("flush every disk", "call('sync'); evidence = 1"),
    Attack("flush the disk beneath the blob", "evidence = 1 + call('syncfs', os.open(files['blob'], os.O_RDONLY))"),
    Attack("asynchronous writing", "c = ctypes.c_ulong(0); evidence = 1 + call('io_setup', 1, ctypes.byref(c))"),
    Attack("timers of the kernel", "t = ctypes.c_int(); evidence = 1 + call('timer_create', 1, 0, ctypes.byref(t))"),
    Attack(
        "a local table of segments",
        "evidence = 1 + call('modify_ldt', 0, ctypes.create_string_buffer(16), 16)",
        works_outside=False,
    ),
    Attack("a base of segments", "evidence = 1 + call('arch_prctl', 0x1003, ctypes.create_string_buffer(8))"),
    Attack("fences for everybody", "evidence = 1 + call('membarrier', 0, 0, 0)"),
    Attack(
        "open with another resolution",
        "h = (ctypes.c_ulong * 3)(0, 0, 0); evidence = call('openat2', -100, b'/dev/null', h, 24)",
    ),
    Attack("wait for many locks", "evidence = 1 + call('futex_waitv', 0, 0, 0, 0, 0)", works_outside=False),
    Attack(
        "merge pages",
        "import mmap\nm = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); evidence = m.madvise(12) or 1",
        works_outside=False,
    ),
    Attack(
        "poison pages",
        "import mmap\nm = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); evidence = m.madvise(101) or 1",
        works_outside=False,
    ),
    Attack(
        "executable memory from the C library",
        "libc.mmap.restype = ctypes.c_void_p\np = libc.mmap(None, 4096, 7, 0x22, -1, 0); evidence = p if p and p + 1 != 1 << 64 else None",
    ),
    Attack("executable stack", "evidence = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 0)() + 1"),
    Attack(
        "write to a library's code",
        "import mmap, _ctypes\nf = os.open(_ctypes.__file__, os.O_RDONLY); m = mmap.mmap(f, 4096, flags=mmap.MAP_PRIVATE, prot=3); a = ctypes.addressof(ctypes.c_char.from_buffer(m)); call('mprotect', a, 4096, 5); evidence = 1",
    ),
    Attack(
        "load a library of my own",
        "import _ctypes\nopen('x.so', 'wb').write(open(_ctypes.__file__, 'rb').read()); ctypes.CDLL('./x.so'); evidence = 1",
    ),
]
