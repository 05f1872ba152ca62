"""Attacks by ways of talking to other processes that are no sockets."""

from tests.security.cell.attack import Attack

IPC = [
    Attack("shared memory of System V", "i = call('shmget', 0, 4096, 0o1600); call('shmctl', i, 0, 0); evidence = 1"),
    Attack("messages of System V", "i = call('msgget', 0, 0o1600); call('msgctl', i, 0, 0); evidence = 1"),
    Attack("semaphores of System V", "i = call('semget', 0, 1, 0o1600); call('semctl', i, 0, 0, 0); evidence = 1"),
    Attack(
        "a message queue",
        "i = call('mq_open', b'blobs-attack', 0o102, 0o600, 0); call('mq_unlink', b'blobs-attack'); evidence = 1",
        works_outside=False,
    ),
    Attack(
        "shared memory by name",
        "from multiprocessing import shared_memory\nm = shared_memory.SharedMemory(create=True, size=10); m.close(); m.unlink(); evidence = 1",
    ),
    Attack(
        "shared memory of the C library",
        "h = libc.shm_open(b'/blobs-attack', 0o102, 0o600); assert h >= 0; libc.shm_unlink(b'/blobs-attack'); evidence = 1",
    ),
    Attack(
        "a semaphore by name",
        "libc.sem_open.restype = ctypes.c_void_p\nassert libc.sem_open(b'/blobs-attack', 0o100, 0o600, 1); libc.sem_unlink(b'/blobs-attack'); evidence = 1",
    ),
    Attack("a lock of multiprocessing", "import multiprocessing\nevidence = multiprocessing.Lock()"),
    Attack("a pipe with a name", "os.mkfifo('blobs-attack-pipe'); os.unlink('blobs-attack-pipe'); evidence = 1"),
    Attack("a pipe with a name for the host", "os.mkfifo(FOLDER + '/pipe'); os.unlink(FOLDER + '/pipe'); evidence = 1"),
    Attack("signals by descriptor", "evidence = call('signalfd4', -1, ctypes.create_string_buffer(8), 8, 0)"),
    Attack("timers by descriptor", "evidence = call('timerfd_create', 1, 0)"),
    Attack("a terminal for others", "evidence = os.openpty()"),
    Attack("memory that can be sent", "evidence = call('memfd_create', b'x', 2)"),
    Attack("memory that nobody sees", "evidence = call('memfd_secret', 0)", works_outside=False),
    Attack(
        "seal memory",
        "import fcntl\nf = os.open('blobs-attack', os.O_CREAT | os.O_RDWR); os.unlink('blobs-attack'); evidence = 1 + fcntl.fcntl(f, 1034)",
        works_outside=False,
    ),
    Attack(
        "move data between pipes",
        "r, w = os.pipe(); a, b = os.pipe(); os.write(w, b'x'); evidence = call('tee', r, b, 1, 0)",
    ),
    Attack(
        "splice a file into a pipe", "r, w = os.pipe(); evidence = os.splice(os.open(files['blob'], os.O_RDONLY), w, 5)"
    ),
    Attack(
        "send a file into a pipe",
        "r, w = os.pipe(); evidence = os.sendfile(w, os.open(files['blob'], os.O_RDONLY), 0, 5)",
    ),
    Attack(
        "attach shared memory of everybody",
        "evidence = [i for i in range(64) if libc.shmat(i, 0, 0) != -1] or None",
        works_outside=False,
    ),
    Attack("list shared memory", "evidence = 1 + call('shmctl', 0, 14, ctypes.create_string_buffer(128))"),
    Attack("watch a folder for others", "evidence = call('inotify_init1', 0)"),
    Attack("queue messages for everybody", "evidence = os.listdir('/dev/mqueue')", works_outside=False),
]
