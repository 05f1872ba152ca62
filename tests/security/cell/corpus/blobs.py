"""Attacks on blobs: those of others, and changing one's own."""

from tests.security.cell.attack import Attack

BLOBS = [
    Attack("read another blob", "evidence = open(STRANGER).read()"),
    Attack("list the blobs", "evidence = os.listdir(FOLDER)"),
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
        "learn where the blob lies",
        "evidence = FOLDER in os.path.realpath(files['blob']) or None",
        allowed=("B",),
        why="the path of a blob is that of its descriptor",
    ),
    Attack(
        "learn where an open blob lies",
        "f = open(files['blob']); evidence = os.readlink(f'/proc/self/fd/{f.fileno()}')",
        allowed=("B",),
        why="the path of a blob is that of its descriptor",
    ),
    Attack(
        "look for another blob by a link",
        "os.link(STRANGER, 'mine'); evidence = open('mine').read()",
        works_outside=False,
    ),
    Attack(
        "open another blob beneath an open folder",
        "d = os.open(os.path.dirname(STRANGER), os.O_RDONLY); evidence = os.open('stranger', os.O_RDONLY, dir_fd=d)",
    ),
    Attack(
        "ask for another blob's size",
        "evidence = os.stat(STRANGER).st_size",
        allowed=("B",),
        why="Landlock does not mediate stat",
    ),
    Attack(
        "ask whether another blob may be read",
        "evidence = os.access(STRANGER, os.R_OK) or None",
        allowed=("B",),
        why="Landlock does not mediate access",
    ),
    Attack(
        "watch for other blobs",
        "evidence = call('inotify_add_watch', call('inotify_init1', 0), FOLDER.encode(), 0xFFF)",
    ),
    Attack(
        "map another blob", "import mmap\nf = open(STRANGER, 'rb'); evidence = mmap.mmap(f.fileno(), 0, prot=1)[:5]"
    ),
    Attack("move the blob away", "os.rename(files['blob'], 'mine'); evidence = 1", works_outside=False),
    Attack(
        "replace the blob by a link",
        "os.symlink('/etc/passwd', 'l'); os.replace('l', files['blob']); evidence = 1",
        works_outside=False,
    ),
    Attack(
        "link the blob to change it",
        "os.link(files['blob'], 'mine'); os.chmod('mine', 0o600); open('mine', 'a').close(); evidence = 1",
        works_outside=False,
    ),
    Attack("change the open blob's mode", "os.fchmod(os.open(files['blob'], os.O_RDONLY), 0o644); evidence = 1"),
    Attack("change the open blob's times", "os.utime(os.open(files['blob'], os.O_RDONLY)); evidence = 1"),
    Attack("change the open blob's owner", "os.fchown(os.open(files['blob'], os.O_RDONLY), -1, -1); evidence = 1"),
    Attack(
        "set an attribute of the open blob",
        "os.setxattr(os.open(files['blob'], os.O_RDONLY), 'user.x', b'1'); evidence = 1",
    ),
    Attack(
        "remove an attribute of the blob",
        "os.setxattr(files['blob'], 'user.y', b'1'); os.removexattr(files['blob'], 'user.y'); evidence = 1",
    ),
    Attack(
        "make the blob immutable",
        "import fcntl\nb = ctypes.create_string_buffer(8); fcntl.ioctl(os.open(files['blob'], os.O_RDONLY), 0x80086601, b); evidence = 1",
    ),
    Attack(
        "clone the blob over itself",
        "import fcntl\nfcntl.ioctl(os.open(files['blob'], os.O_RDWR), 0x40049409, os.open(files['blob'], os.O_RDONLY)); evidence = 1",
        works_outside=False,
    ),
    Attack(
        "punch a hole in the blob",
        "libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]\nassert libc.fallocate(os.open(files['blob'], os.O_RDWR), 3, 0, 1) == 0; evidence = 1",
        works_outside=False,
    ),
    Attack("write the blob by a vector", "evidence = os.pwritev(os.open(files['blob'], os.O_RDWR), [], 0) + 1"),
    Attack(
        "take a lease of the blob",
        "import fcntl\nfcntl.fcntl(os.open(files['blob'], os.O_RDONLY), 1024, 0); evidence = 1",
    ),
    Attack(
        "be told of changes beside the blob",
        "import fcntl\nfcntl.fcntl(os.open(FOLDER, os.O_RDONLY), 1026, 1); evidence = 1",
    ),
    Attack(
        "append through an open blob's name",
        "f = open(files['blob']); open(f'/dev/fd/{f.fileno()}', 'a').close(); evidence = 1",
    ),
    Attack(
        "create beside the given blob",
        "open(os.path.dirname(files['blob']) + '/blobs-attack', 'w').close(); os.unlink(os.path.dirname(files['blob']) + '/blobs-attack'); evidence = 1",
        works_outside=False,
    ),
    Attack(
        "move the blob's data elsewhere",
        "evidence = os.copy_file_range(os.open(files['blob'], os.O_RDONLY), os.open(FOLDER + '/new', os.O_CREAT | os.O_RDWR), 5); os.unlink(FOLDER + '/new')",
    ),
    Attack(
        "find a neighbour of the blob",
        "evidence = open(os.path.dirname(os.path.realpath(files['blob'])) + '/stranger').read()",
    ),
    Attack(
        "list what lies beside the blob",
        "evidence = set(os.listdir(os.path.dirname(os.path.realpath(files['blob'])))) - {'blob'} or None",
    ),
]
