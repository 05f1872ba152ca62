# ruff: noqa: E501 (an attack reads best as the one line it is)
"""Attacks on the cell. Each leaves `evidence` when it works; an exception or no evidence means it was stopped.

`works_outside` marks those that succeed in a plain process: run there, they prove that they test something. The others
cannot be shown without harm, need what this machine lacks, or are stopped already by the server's clean start.
`allowed` names the tiers in which an attack is known to succeed, and why is said beside it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Attack:
    name: str
    code: str
    works_outside: bool = True
    allowed: tuple[str, ...] = ()


FILES = [
    Attack("read a host file", "evidence = open(CANARY).read()"),
    Attack("read the host's users", "evidence = 'root' in open('/etc/passwd').read() or None"),
    Attack("read the host's passwords", "evidence = open('/etc/shadow').read(1)"),
    Attack("read another blob", "evidence = open(STRANGER).read()"),
    Attack("list the blobs", "evidence = os.listdir(FOLDER)"),
    Attack("list the root", "evidence = {'boot', 'media', 'mnt', 'srv'} & set(os.listdir('/')) or None"),
    Attack("look whether a host file is there", "evidence = os.stat(CANARY).st_size", allowed=("B",)),  # not mediated
    Attack("read through process 1's root", "evidence = open('/proc/1/root' + CANARY).read()", works_outside=False),
    Attack(
        "read through the host's root", "evidence = open(f'/proc/{HOST}/root' + CANARY).read()", works_outside=False
    ),
    Attack("climb out by dots", "evidence = open('../../../../../../..' + CANARY).read()"),
    Attack(
        "climb out by a directory descriptor",
        "evidence = open('.' + CANARY, opener=lambda p, f: os.open(p, f, dir_fd=os.open('/', os.O_PATH))).read()",
    ),
    Attack("link to a host file", "os.symlink(CANARY, 'link'); evidence = open('link').read()", works_outside=False),
    Attack("hard link a host file", "os.link(CANARY, 'hard'); evidence = open('hard').read()", works_outside=False),
    Attack(
        "open by handle",
        "h = ctypes.create_string_buffer(136); ctypes.c_uint.from_buffer(h).value = 128\nm = ctypes.c_int()\ncall('name_to_handle_at', -100, files['blob'].encode(), h, ctypes.byref(m), 0)\nevidence = call('open_by_handle_at', -100, h, 0)",
        works_outside=False,
    ),
    Attack("write a host file", "open(CANARY, 'a').close(); evidence = 1"),
    Attack("write beside the blobs", "open(FOLDER + '/new', 'w').close(); os.unlink(FOLDER + '/new'); evidence = 1"),
    Attack("write the blob", "open(files['blob'], 'r+').close(); evidence = 1"),
    Attack("append to the blob", "open(files['blob'], 'ab').close(); evidence = 1"),
    Attack("truncate the blob", "os.truncate(files['blob'], os.stat(files['blob']).st_size); evidence = 1"),
    Attack("change the blob's mode", "os.chmod(files['blob'], 0o644); evidence = 1"),
    Attack("change the blob's times", "os.utime(files['blob']); evidence = 1"),
    Attack(
        "change the blob's owner",
        "os.chown(files['blob'], -1, -1); call('chown', files['blob'].encode(), 0, 0); evidence = 1",
    ),
    Attack("set an attribute of the blob", "os.setxattr(files['blob'], 'user.x', b'1'); evidence = 1"),
    Attack("remove the blob", "os.unlink(files['blob']); evidence = 1", works_outside=False),
    Attack(
        "replace the blob",
        "open('other', 'w').close(); os.rename('other', files['blob']); evidence = 1",
        works_outside=False,
    ),
    Attack(
        "lock the blob against the host", "import fcntl\nfcntl.flock(open(files['blob']), fcntl.LOCK_SH); evidence = 1"
    ),
    Attack(
        "reopen the blob for writing",
        "f = open(files['blob']); os.open(f'/proc/self/fd/{f.fileno()}', os.O_RDWR); evidence = 1",
    ),
    Attack(
        "map the blob writable", "import mmap\nf = open(files['blob'], 'r+b'); mmap.mmap(f.fileno(), 0); evidence = 1"
    ),
    Attack("allocate in the blob", "os.posix_fallocate(os.open(files['blob'], os.O_WRONLY), 0, 1); evidence = 1"),
    Attack(
        "write to shared memory",
        "open('/dev/shm/blobs-attack', 'w').close(); os.unlink('/dev/shm/blobs-attack'); evidence = 1",
    ),
    Attack(
        "write to /var/tmp",
        "open('/var/tmp/blobs-attack', 'w').close(); os.unlink('/var/tmp/blobs-attack'); evidence = 1",
    ),
    Attack(
        "poison a library",
        "import json\np = os.path.dirname(json.__file__) + '/attack.py'\nopen(p, 'w').close(); os.unlink(p); evidence = 1",
    ),
    Attack(
        "poison our own code",
        "import blobs.running as b\np = os.path.dirname(b.__file__) + '/attack.py'\nopen(p, 'w').close(); os.unlink(p); evidence = 1",
    ),
    Attack(
        "open devices",
        "for d in ('kmsg', 'mem', 'kvm', 'vda', 'fuse', 'net/tun', 'tty', 'ptmx'):\n    try: os.open('/dev/' + d, os.O_RDONLY); evidence = d\n    except OSError: pass",
    ),
    Attack(
        "make a device",
        "os.mknod('dev', 0o20600, os.makedev(1, 1)); evidence = os.open('dev', os.O_RDONLY)",
        works_outside=False,
    ),
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
    Attack(
        "read the host's environment",
        "evidence = next((k for k in os.environ if 'BLOBS' in k), None) or ('BLOBS' in open('/proc/self/environ').read() or None)",
        works_outside=False,
    ),
    Attack("read what the host runs", "evidence = open(f'/proc/{HOST}/cmdline').read()"),
    Attack("read kernel symbols", "evidence = open('/proc/kallsyms').read(1)"),
    Attack(
        "read the machine's memory use", "evidence = open('/proc/meminfo').read(9)", allowed=("B",)
    ),  # DuckDB needs it
    Attack("read mounts", "evidence = open('/proc/self/mountinfo').read(1)"),
    Attack("read memory maps", "evidence = open('/proc/self/maps').read(1)"),
    Attack(
        "learn where the blob lies", "evidence = FOLDER in os.path.realpath(files['blob']) or None", allowed=("B",)
    ),  # a link to it
    Attack(
        "learn where an open blob lies",
        "f = open(files['blob']); evidence = os.readlink(f'/proc/self/fd/{f.fileno()}')",
        allowed=("B",),
    ),
    Attack("write a kernel setting", "open('/proc/sys/kernel/hostname', 'a').close(); evidence = 1"),
    Attack(
        "write to a cgroup",
        "evidence = [os.open(p, os.O_WRONLY) for p in ('/sys/fs/cgroup/cgroup.procs', '/sys/fs/cgroup/unified/cgroup.procs') if os.path.exists(p)] or None",
        works_outside=False,
    ),
    Attack("write own memory through a file", "os.open('/proc/self/mem', os.O_RDWR); evidence = 1"),
]

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
]

NETWORK = [
    Attack("connect to the host", "import socket\nevidence = socket.create_connection(('127.0.0.1', PORT), 1)"),
    Attack(
        "send a datagram",
        "import socket\nevidence = socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', PORT))",
    ),
    Attack("open a socket of version 6", "import socket\nevidence = socket.socket(socket.AF_INET6)"),
    Attack("connect to a path", "import socket\ns = socket.socket(socket.AF_UNIX); s.connect(SOCKET); evidence = 1"),
    Attack(
        "connect to an abstract name",
        "import socket\ns = socket.socket(socket.AF_UNIX); s.connect('\\0' + ABSTRACT); evidence = 1",
    ),
    Attack("make a pair of sockets", "import socket\nevidence = socket.socketpair()"),
    Attack("open netlink", "import socket\nevidence = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)"),
    Attack("open a socket to the hypervisor", "evidence = call('socket', 40, 1, 0)"),
    Attack("open a multipath socket", "evidence = call('socket', 2, 1, 262)", works_outside=False),
    Attack("open a raw socket", "evidence = call('socket', 17, 3, 0)", works_outside=False),
    Attack("resolve a name", "import socket\nevidence = socket.getaddrinfo('localhost', 80)"),
]

KERNEL = [
    Attack("shared memory of System V", "i = call('shmget', 0, 4096, 0o1600); call('shmctl', i, 0, 0); evidence = 1"),
    Attack("messages of System V", "i = call('msgget', 0, 0o1600); call('msgctl', i, 0, 0); evidence = 1"),
    Attack("semaphores of System V", "i = call('semget', 0, 1, 0o1600); call('semctl', i, 0, 0, 0); evidence = 1"),
    Attack(
        "a message queue",
        "i = call('mq_open', b'blobs-attack', 0o102, 0o600, 0); call('mq_unlink', b'blobs-attack'); evidence = 1",
        works_outside=False,
    ),
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
]

ATTACKS = [*FILES, *PROCESSES, *NETWORK, *KERNEL]
