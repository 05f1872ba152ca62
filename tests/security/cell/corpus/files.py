"""Attacks on files of the host that are no blobs: reading, listing, writing, by hand and by libraries."""

from tests.security.cell.attack import Attack

FILES = [
    Attack("read a host file", "evidence = open(CANARY).read()"),
    Attack("read the host's users", "evidence = 'root' in open('/etc/passwd').read() or None"),
    Attack("read the host's passwords", "evidence = open('/etc/shadow').read(1)"),
    Attack("list the root", "evidence = {'boot', 'media', 'mnt', 'srv'} & set(os.listdir('/')) or None"),
    Attack(
        "look whether a host file is there",
        "evidence = os.stat(CANARY).st_size",
        allowed=("B",),
        why="Landlock does not mediate stat",
    ),
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
    Attack(
        "read the host's environment",
        "evidence = next((k for k in os.environ if 'BLOBS' in k), None) or ('BLOBS' in open('/proc/self/environ').read() or None)",
        works_outside=False,
    ),
    Attack("read what the host runs", "evidence = open(f'/proc/{HOST}/cmdline').read()"),
    Attack("read kernel symbols", "evidence = open('/proc/kallsyms').read(1)"),
    Attack(
        "read the machine's memory use",
        "evidence = open('/proc/meminfo').read(9)",
        allowed=("B",),
        why="DuckDB must read it to know its limits",
    ),
    Attack("read mounts", "evidence = open('/proc/self/mountinfo').read(1)"),
    Attack("read memory maps", "evidence = open('/proc/self/maps').read(1)"),
    Attack("write a kernel setting", "open('/proc/sys/kernel/hostname', 'a').close(); evidence = 1"),
    Attack(
        "write to a cgroup",
        "evidence = [os.open(p, os.O_WRONLY) for p in ('/sys/fs/cgroup/cgroup.procs', '/sys/fs/cgroup/unified/cgroup.procs') if os.path.exists(p)] or None",
        works_outside=False,
    ),
    Attack("write own memory through a file", "os.open('/proc/self/mem', os.O_RDWR); evidence = 1"),
    Attack(
        "read the users by a library",
        "import pwd\nevidence = [p.pw_name for p in pwd.getpwall() if p.pw_name == 'root'] or None",
    ),
    Attack("read the resolver's settings", "evidence = open('/etc/hosts').read()"),
    Attack("read the machine's identity", "evidence = open('/etc/hostname').read()"),
    Attack(
        "list a home",
        "evidence = [n for n in os.listdir('/root') if n.startswith(('.bash', '.profile', '.cache', '.ssh'))] or None",
    ),
    Attack("list the homes", "evidence = os.listdir('/home')"),
    Attack("list temporary files of the host", "evidence = os.listdir(os.path.dirname(FOLDER))"),
    Attack("read the kernel's command line", "evidence = open('/proc/cmdline').read()"),
    Attack("read the kernel's version", "evidence = open('/proc/version').read()"),
    Attack("read network connections", "evidence = open('/proc/net/tcp').read()"),
    Attack("list network devices", "evidence = os.listdir('/sys/class/net')"),
    Attack("read the machine's maker", "evidence = os.listdir('/sys/devices')"),
    Attack(
        "read what lies beside the libraries",
        "import sys\nevidence = [p for p in (sys.prefix + '/pyvenv.cfg', sys.prefix + '/bin', sys.base_prefix + '/bin') if os.access(p, os.R_OK) and os.open(p, os.O_RDONLY)] or None",
    ),
    Attack(
        "read what lies beside our own code",
        "import blobs\ntop = os.path.dirname(os.path.dirname(blobs.__file__))\nevidence = open(top + '/pyproject.toml').read(9)",
    ),
    Attack(
        "list what lies beside our own code",
        "import blobs\nevidence = {'README.md', 'pyproject.toml'} & set(os.listdir(os.path.dirname(os.path.dirname(blobs.__file__)))) or None",
    ),
    Attack(
        "read through a database",
        "import duckdb\nevidence = duckdb.sql(f\"select content from read_text('{CANARY}')\").fetchall() or None",
    ),
    Attack(
        "list through a database",
        "import duckdb\nevidence = duckdb.sql(f\"select * from glob('{FOLDER}/*')\").fetchall() or None",
    ),
    Attack(
        "write through a database",
        "import duckdb\nduckdb.sql('select 1').write_csv(FOLDER + '/new'); os.unlink(FOLDER + '/new'); evidence = 1",
    ),
    Attack(
        "read through an XML entity",
        "from lxml import etree\nx = etree.fromstring(f'<!DOCTYPE a [<!ENTITY e SYSTEM \"file://{CANARY}\">]><a>&e;</a>', etree.XMLParser(resolve_entities=True, load_dtd=True)); evidence = x.text",
        works_outside=False,
    ),
    Attack("read through native code", "h = libc.open(CANARY.encode(), 0)\nevidence = os.read(h, 9)"),
    Attack(
        "unpack an archive over the host",
        "import io, tarfile\nb = io.BytesIO(); t = tarfile.open(fileobj=b, mode='w'); i = tarfile.TarInfo('..' + '/..' * 20 + FOLDER + '/new'); i.size = 1; t.addfile(i, io.BytesIO(b'x')); t.close(); b.seek(0)\ntarfile.open(fileobj=b).extractall('.', filter='fully_trusted'); os.stat(FOLDER + '/new'); os.unlink(FOLDER + '/new'); evidence = open(STRANGER).read()",
    ),
    Attack("make a folder in the root", "os.mkdir('/blobs-attack'); os.rmdir('/blobs-attack'); evidence = 1"),
    Attack("write the users' list", "open('/etc/passwd', 'a').close(); evidence = 1"),
    Attack("a file without a name in the host's folder", "evidence = os.open(FOLDER, os.O_TMPFILE | os.O_RDWR)"),
    Attack(
        "remove a library",
        "import json\np = os.path.dirname(json.__file__)\nos.rename(p + '/decoder.py', p + '/decoder.py.mine'); os.rename(p + '/decoder.py.mine', p + '/decoder.py'); evidence = 1",
    ),
    Attack(
        "change a library's mode", "import json\nos.chmod(json.__file__, os.stat(json.__file__).st_mode); evidence = 1"
    ),
    Attack(
        "poison compiled code",
        "import json\np = os.path.dirname(json.__file__) + '/__pycache__'\nopen(p + '/attack.pyc', 'w').close(); os.unlink(p + '/attack.pyc'); evidence = 1",
    ),
    Attack("change a device's mode", "os.chmod('/dev/null', os.stat('/dev/null').st_mode); evidence = 1"),
    Attack("touch a device", "os.utime('/dev/zero'); evidence = 1"),
    Attack("list devices", "evidence = len(os.listdir('/dev')) > 8 or None"),
    Attack("control the terminal", "evidence = os.open('/dev/tty', os.O_RDWR)", works_outside=False),
    Attack("tell what the host can do", "evidence = os.listdir('/sys/kernel/security')"),
    Attack("read the host's cgroups", "evidence = os.listdir('/sys/fs/cgroup')"),
    Attack(
        "attach a database of the host",
        "import duckdb\nduckdb.sql(f\"attach '{FOLDER}/other.db'\"); os.unlink(FOLDER + '/other.db'); evidence = 1",
    ),
]
