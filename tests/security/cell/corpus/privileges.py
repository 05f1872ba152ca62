"""Attacks on rights: users, capabilities, namespaces, mounts, limits, priorities."""

from tests.security.cell.attack import Attack

PRIVILEGES = [
    Attack("change the root", "os.chroot('/'); evidence = 1", works_outside=False),
    Attack(
        "escape a changed root",
        "os.mkdir('r'); os.chroot('r'); [os.chdir('..') for _ in range(20)]; os.chroot('.'); evidence = open(CANARY).read()",
        works_outside=False,
    ),
    Attack(
        "mount",
        "call('mount', b'x', b'/mnt', b'tmpfs', 0, 0); call('umount2', b'/mnt', 0); evidence = 1",
        works_outside=False,
    ),
    Attack("uncover what lies below", "call('umount2', b'/blobs', 2); evidence = 1", works_outside=False),
    Attack(
        "make the blob writable again",
        "call('mount', 0, files['blob'].encode(), 0, 32 | 4096, 0); evidence = 1",
        works_outside=False,
    ),
    Attack("clone a mount", "evidence = call('open_tree', -100, b'/', 1)", works_outside=False),
    Attack("pivot the root", "call('pivot_root', b'.', b'.'); evidence = 1", works_outside=False),
    Attack("make a user namespace", "call('unshare', 0x10000000); evidence = 1", works_outside=False),
    Attack("make a mount namespace", "call('unshare', 0x20000); evidence = 1", works_outside=False),
    Attack(
        "make a namespace by clone",
        "p = call('clone', 17 | 0x10000000, 0, 0, 0, 0)\nif p == 0: os._exit(0)\nos.waitpid(p, 0); evidence = 1",
    ),
    Attack(
        "join the host's namespace",
        "call('setns', os.open(f'/proc/{HOST}/ns/mnt', os.O_RDONLY), 0); evidence = 1",
        works_outside=False,
    ),
    Attack("become root", "os.setuid(0); evidence = 1", works_outside=False),
    Attack("become root with groups", "os.setgroups([0]); evidence = 1", works_outside=False),
    Attack(
        "take capabilities",
        "h = (ctypes.c_uint * 2)(0x20080522, 0); s = (ctypes.c_uint * 6)(*[0xFFFFFFFF] * 6); call('capset', h, s); evidence = 1",
        works_outside=False,
    ),
    Attack(
        "have capabilities",
        "evidence = [l for l in open('/proc/self/status') if l.startswith(('CapEff', 'CapPrm', 'CapInh', 'CapAmb')) and int(l.split()[1], 16)] or None",
        works_outside=False,
    ),
    Attack("be dumpable again", "evidence = 1 + call('prctl', 4, 1, 0, 0, 0)"),
    Attack("add a filter", "evidence = call('seccomp', 2, 0, 0)", works_outside=False),
    Attack(
        "raise a limit",
        "import resource\nh = resource.getrlimit(resource.RLIMIT_NOFILE)[1]; resource.setrlimit(resource.RLIMIT_NOFILE, (h, h)); evidence = 1",
    ),
    Attack(
        "raise the priority", "os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0)); evidence = 1"
    ),
    Attack(
        "ask for real time",
        "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)); evidence = 1",
        works_outside=False,
    ),
    Attack("change the personality", "evidence = 1 + call('personality', 0x0040000)", works_outside=False),
    Attack("keep capabilities", "evidence = 1 + call('prctl', 8, 1, 0, 0, 0)", works_outside=False),
    Attack("an ambient capability", "evidence = 1 + call('prctl', 47, 2, 0, 0, 0)", works_outside=False),
    Attack("set secure bits", "evidence = 1 + call('prctl', 28, 0, 0, 0, 0)", works_outside=False),
    Attack(
        "gain rights by a program",
        "open('x', 'wb').write(b'x'); os.chmod('x', 0o4755); os.execv('./x', ['x'])",
        works_outside=False,
    ),
    Attack(
        "become another for files",
        "call('setfsuid', 0); evidence = call('setfsuid', 0) == 0 and os.getuid() == 0 or None",
    ),
    Attack("become another user's group", "os.setgid(0); evidence = 1", works_outside=False),
    Attack("write the map of users", "os.open('/proc/self/uid_map', os.O_WRONLY); evidence = 1"),
    Attack("be spared when memory is short", "os.open('/proc/self/oom_score_adj', os.O_WRONLY); evidence = 1"),
    Attack("ask for a share of the disk", "evidence = 1 + call('ioprio_set', 1, 0, 0x4000)"),
    Attack("name the host", "call('sethostname', b'x', 1); evidence = 1", works_outside=False),
    Attack(
        "set the clock",
        "import time\ntime.clock_settime(time.CLOCK_REALTIME, time.time()); evidence = 1",
        works_outside=False,
    ),
    Attack("look at the clock's adjustment", "evidence = 1 + call('adjtimex', ctypes.create_string_buffer(256))"),
    Attack("make a process namespace", "call('unshare', 0x20000000); evidence = 1", works_outside=False),
    Attack("make a network namespace", "call('unshare', 0x40000000); evidence = 1", works_outside=False),
    Attack(
        "join my own namespace",
        "call('setns', os.open('/proc/self/ns/user', os.O_RDONLY), 0); evidence = 1",
        works_outside=False,
    ),
    Attack(
        "make a namespace by clone3",
        "a = (ctypes.c_ulong * 11)(*[0x10000000, 0, 0, 0, 17]); p = call('clone3', a, 88)\nif p == 0: os._exit(0)\nos.waitpid(p, 0); evidence = 1",
    ),
    Attack("open a file system", "evidence = call('fsopen', b'tmpfs', 0)", works_outside=False),
    Attack("pick a file system", "evidence = call('fspick', -100, b'/', 0)", works_outside=False),
    Attack(
        "change a mount",
        "evidence = 1 + call('mount_setattr', -100, b'/', 0, ctypes.create_string_buffer(32), 32)",
        works_outside=False,
    ),
    Attack("move a mount", "evidence = 1 + call('move_mount', -100, b'/blobs', -100, b'/tmp', 0)", works_outside=False),
    Attack("allow writing executable memory", "evidence = 1 + call('prctl', 65, 0, 0, 0, 0)", works_outside=False),
    Attack(
        "take off my own filter", "import resource\nevidence = 1 + call('prctl', 22, 0, 0, 0, 0)", works_outside=False
    ),
    Attack(
        "file size without limit",
        "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)); evidence = 1",
        works_outside=False,
    ),
    Attack("lower a limit of mine", "import resource\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0)); evidence = 1"),
]
