"""Attacks on processes: others seen, signalled, read; new ones made; other programs run."""

from tests.security.cell.attack import Attack

PROCESSES = [
    Attack("see other processes", "evidence = [p for p in os.listdir('/proc') if p.isdigit()][1:] or None"),
    Attack("signal the host", "os.kill(HOST, 0); evidence = 1"),
    Attack("signal everybody", "os.kill(-1, 0); evidence = 1"),
    Attack("signal the parent", "os.kill(os.getppid() or -1, 0); evidence = 1"),
    Attack(
        "queue a signal for the host",
        "call('rt_sigqueueinfo', HOST, 0, ctypes.create_string_buffer(b'\\0' * 8 + b'\\xff' * 4, 128)); evidence = 1",
        works_outside=False,
    ),
    Attack("have the kernel signal the host", "import fcntl\nr, w = os.pipe(); fcntl.fcntl(r, 8, HOST); evidence = 1"),
    Attack("trace myself", "call('ptrace', 0, 0, 0, 0); evidence = 1", works_outside=False),
    Attack(
        "trace the host",
        "call('ptrace', 0x4206, HOST, 0, 0); call('ptrace', 17, HOST, 0, 0); evidence = 1",
        works_outside=False,
    ),
    Attack(
        "read the host's memory",
        "b = ctypes.create_string_buffer(8); v = (ctypes.c_ulong * 2)(ctypes.addressof(b), 8); call('process_vm_readv', os.getpid(), v, 1, v, 1, 0); evidence = 1",
    ),
    Attack("hold the host", "evidence = call('pidfd_open', HOST, 0)"),
    Attack(
        "take the host's descriptors",
        "evidence = call('pidfd_getfd', call('pidfd_open', HOST, 0), 0, 0)",
        works_outside=False,
    ),
    Attack("fork", "p = os.fork()\nif p == 0: os._exit(0)\nos.waitpid(p, 0); evidence = 1"),
    Attack(
        "fork by clone", "p = call('clone', 17, 0, 0, 0, 0)\nif p == 0: os._exit(0)\nos.waitpid(p, 0); evidence = 1"
    ),
    Attack(
        "fork by clone3",
        "a = (ctypes.c_ulong * 11)(*[0, 0, 0, 0, 17]); p = call('clone3', a, 88)\nif p == 0: os._exit(0)\nos.waitpid(p, 0); evidence = 1",
    ),
    Attack("run a program", "p = os.posix_spawn('/bin/true', ['true'], {}); os.waitpid(p, 0); evidence = 1"),
    Attack("become a program", "os.execv('/bin/true', ['true'])", works_outside=False),
    Attack(
        "run the interpreter anew",
        "import subprocess, sys\nevidence = subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True, check=True).stdout",
    ),
    Attack("run from memory", "f = call('memfd_create', b'x', 0); evidence = f"),
    Attack(
        "fork by the C library", "p = libc.fork()\nif p == 0: os._exit(0)\nassert p > 0; os.waitpid(p, 0); evidence = 1"
    ),
    Attack("a shell by the C library", "evidence = libc.system(b'true') == 0 or None"),
    Attack("a pipe from a program", "evidence = os.popen('echo x').read() or None"),
    Attack(
        "a process of multiprocessing",
        "import multiprocessing as m\np = m.get_context('fork').Process(target=int); p.start(); p.join(); evidence = 1",
    ),
    Attack(
        "run the loader",
        "import subprocess\nevidence = subprocess.run(['/lib64/ld-linux-x86-64.so.2', '--version'] if os.path.exists('/lib64/ld-linux-x86-64.so.2') else ['/bin/true'], capture_output=True, check=True).returncode == 0",
    ),
    Attack(
        "run a file of my own",
        "open('x', 'w').write('#!/bin/sh\\n'); os.chmod('x', 0o755); import subprocess\nevidence = subprocess.run(['./x'], check=True) and 1",
        works_outside=False,
    ),
    Attack(
        "become a program by descriptor",
        "call('execveat', os.open('/bin/true', os.O_RDONLY), b'', 0, 0, 0x1000)",
        works_outside=False,
    ),
    Attack("run a daemon", "if os.fork() == 0:\n    os.setsid()\n    os._exit(0)\nevidence = 1"),
    Attack(
        "signal the host by its descriptor",
        "call('pidfd_send_signal', call('pidfd_open', HOST, 0), 0, 0, 0); evidence = 1",
    ),
    Attack("signal a thread of the host", "call('tkill', HOST, 0); evidence = 1"),
    Attack("signal a group", "os.killpg(os.getpgid(HOST), 0); evidence = 1"),
    Attack(
        "write the host's memory",
        "b = ctypes.create_string_buffer(8); v = (ctypes.c_ulong * 2)(ctypes.addressof(b), 8); call('process_vm_writev', os.getpid(), v, 1, v, 1, 0); evidence = 1",
    ),
    Attack("open the host's memory", "os.open(f'/proc/{HOST}/mem', os.O_RDONLY); evidence = 1", works_outside=False),
    Attack("open own memory of another thread", "os.open('/proc/thread-self/mem', os.O_RDWR); evidence = 1"),
    Attack(
        "compare with the host", "evidence = 1 + call('kcmp', os.getpid(), os.getpid(), 0, 0, 0)", works_outside=False
    ),
    Attack(
        "advise the host's memory",
        "evidence = 1 + call('process_madvise', call('pidfd_open', HOST, 0), 0, 0, 20, 0)",
        works_outside=False,
    ),
    Attack(
        "ask for the host's group",
        "evidence = os.getpgid(HOST)",
        allowed=("B",),
        why="there is no pid namespace, and numbers may be asked about",
    ),
    Attack(
        "ask for the host's processors",
        "evidence = os.sched_getaffinity(HOST)",
        allowed=("B",),
        why="there is no pid namespace, and numbers may be asked about",
    ),
    Attack("ask for the host's limits", "import resource\nevidence = resource.prlimit(HOST, resource.RLIMIT_NOFILE)"),
    Attack(
        "ask for the host's robust list",
        "a, b = ctypes.c_void_p(), ctypes.c_size_t(); call('get_robust_list', HOST, ctypes.byref(a), ctypes.byref(b)); evidence = 1",
        works_outside=False,
    ),
    Attack("know the parent", "evidence = os.getppid() or None", allowed=("B",), why="there is no pid namespace"),
    Attack("choose the processor", "os.sched_setaffinity(0, os.sched_getaffinity(0)); evidence = 1"),
    Attack("outlive the server", "evidence = 1 + call('prctl', 1, 0, 0, 0, 0)"),
    Attack("adopt orphans", "evidence = 1 + call('prctl', 36, 1, 0, 0, 0)"),
    Attack(
        "join another group", "os.setpgid(0, 0) or os.setpgid(0, os.getpgid(HOST)); evidence = 1", works_outside=False
    ),
]
