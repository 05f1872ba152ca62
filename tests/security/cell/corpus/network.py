"""Attacks on the network: sockets of every family, by hand and by libraries."""

from tests.security.cell.attack import Attack

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
    Attack(
        "fetch a page",
        "import urllib.request\nevidence = urllib.request.urlopen(f'http://127.0.0.1:{PORT}', timeout=0.2)",
        works_outside=False,
    ),
    Attack("listen", "import socket\nevidence = socket.create_server(('127.0.0.1', 0))"),
    Attack("listen to everybody", "import socket\nevidence = socket.create_server(('', 0))"),
    Attack(
        "a connection of asyncio", "import asyncio\nevidence = asyncio.run(asyncio.open_connection('127.0.0.1', PORT))"
    ),
    Attack(
        "ask for the cloud's keys",
        "import socket\ns = socket.socket(); s.setblocking(False); evidence = s.connect_ex(('169.254.169.254', 80)) == 115 or None",
    ),
    Attack(
        "a datagram to the name server", "import socket\nevidence = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"
    ),
    Attack("a ping", "evidence = call('socket', 2, 2, 1)", works_outside=False),
    Attack("a raw ping", "evidence = call('socket', 2, 3, 1)", works_outside=False),
    Attack("a stream of SCTP", "evidence = call('socket', 2, 1, 132)", works_outside=False),
    Attack("a datagram to the hypervisor", "evidence = call('socket', 40, 2, 0)", works_outside=False),
    Attack("a sequence to the hypervisor", "evidence = call('socket', 40, 5, 0)", works_outside=False),
    Attack(
        "connect to the hypervisor",
        "s = call('socket', 40, 1, 0); evidence = libc.connect(s, (ctypes.c_uint32 * 4)(40, 9, 2, 0), 16) and 1",
    ),
    Attack("the kernel's ciphers", "evidence = call('socket', 38, 5, 0)", works_outside=False),
    Attack("express data paths", "evidence = call('socket', 44, 3, 0)", works_outside=False),
    Attack("a cluster's sockets", "evidence = call('socket', 30, 5, 0)", works_outside=False),
    Attack("a car's bus", "evidence = call('socket', 29, 3, 1)", works_outside=False),
    Attack("a radio", "evidence = call('socket', 31, 3, 1)", works_outside=False),
    Attack("keys of the network", "evidence = call('socket', 15, 3, 2)", works_outside=False),
    Attack("sockets over memory", "evidence = call('socket', 43, 1, 0)", works_outside=False),
    Attack("a packet of a path", "import socket\ns = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); evidence = s"),
    Attack(
        "a sequence of a path", "import socket\ns = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); evidence = s"
    ),
    Attack(
        "listen at a path",
        "import socket\ns = socket.socket(socket.AF_UNIX); s.bind('s'); os.unlink('s'); evidence = 1",
    ),
    Attack("a socket by io_uring", "evidence = call('io_uring_enter', 0, 0, 0, 0, 0, 0)", works_outside=False),
    Attack(
        "find a socket among descriptors",
        "import stat\nfound = []\nfor f in range(256):\n    try: found += [f] * stat.S_ISSOCK(os.fstat(f).st_mode)\n    except OSError: pass\nevidence = found or None",
        works_outside=False,
    ),
    Attack(
        "use a descriptor for a socket",
        "import socket\nevidence = [socket.socket(fileno=f).recv(1) for f in (0, 1, 2)]",
        works_outside=False,
    ),
    Attack(
        "accept on any descriptor",
        "for f in range(256):\n    try: evidence = call('accept4', f, 0, 0, 0)\n    except OSError: pass",
        works_outside=False,
    ),
    Attack(
        "receive on any descriptor",
        "for f in range(256):\n    try: evidence = 1 + call('recvfrom', f, ctypes.create_string_buffer(9), 9, 0x40, 0, 0)\n    except OSError: pass",
        works_outside=False,
    ),
    Attack("know the network's names", "import socket\nevidence = socket.if_nameindex()"),
    Attack("install an extension", 'import duckdb\nduckdb.sql("install httpfs"); evidence = 1', works_outside=False),
    Attack(
        "read over the network through a database",
        "import duckdb\nevidence = duckdb.sql(f\"from read_csv('http://127.0.0.1:{PORT}/x.csv')\").fetchall()",
        works_outside=False,
    ),
]
