"""Attacks on the calls that come after: each leaves something in one call and looks for it in the next."""

from tests.security.cell.attack import Attack

PERSISTENCE = [
    Attack(
        "patch a module", "import json; evidence = getattr(json, 'mark', None)", before="import json; json.mark = 1"
    ),
    Attack(
        "patch the builtins",
        "import builtins; evidence = getattr(builtins, 'mark', None)",
        before="import builtins; builtins.mark = 1",
    ),
    Attack(
        "replace a function of everybody",
        "import json; evidence = json.loads('1') if json.loads('1') == 'mine' else None",
        before="import json; json.loads = lambda *a, **k: 'mine'",
    ),
    Attack(
        "patch our own code",
        "import blobs.running.frames as f; evidence = f.decode_value(b'1') if f.decode_value.__name__ == '<lambda>' else None",
        before="import blobs.running.frames as f; f.decode_value = lambda b: {'value': 'mine'}",
    ),
    Attack(
        "a module of my own",
        "import mine; evidence = 1",
        before="import sys, types; sys.modules['mine'] = types.ModuleType('mine')",
    ),
    Attack(
        "a path to import from",
        "import sys; evidence = '/mine' in sys.path or None",
        before="import sys; sys.path.insert(0, '/mine')",
    ),
    Attack("the environment", "evidence = os.environ.get('MINE')", before="os.environ['MINE'] = '1'"),
    Attack(
        "a file in the scratch folder", "evidence = os.path.exists('mine') or None", before="open('mine', 'w').close()"
    ),
    Attack(
        "a file for temporary things",
        "import tempfile; p = tempfile.gettempdir() + '/mine'; evidence = os.path.exists(p) or None; os.unlink(p)",
        before="import tempfile; open(tempfile.gettempdir() + '/mine', 'w').close()",
    ),
    Attack(
        "a file in the home",
        "p = os.path.expanduser('~/mine'); evidence = os.path.exists(p) or None; os.unlink(p)",
        before="open(os.path.expanduser('~/mine'), 'w').close()",
    ),
    Attack(
        "a file in shared memory",
        "evidence = os.path.exists('/dev/shm/mine') or None; os.unlink('/dev/shm/mine')",
        before="open('/dev/shm/mine', 'w').close()",
    ),
    Attack(
        "a thread",
        "import threading; evidence = [t for t in threading.enumerate() if t.name == 'mine'] or None",
        before="import threading, time; threading.Thread(target=time.sleep, args=(5,), name='mine', daemon=True).start()",
    ),
    Attack(
        "a signal's handler",
        "import signal; evidence = signal.getsignal(signal.SIGUSR1) or None",
        before="import signal; signal.signal(signal.SIGUSR1, lambda *a: None)",
    ),
    Attack(
        "an alarm",
        "import signal; evidence = signal.getitimer(signal.ITIMER_REAL)[0] or None; signal.setitimer(signal.ITIMER_REAL, 0)",
        before="import signal; signal.setitimer(signal.ITIMER_REAL, 50)",
    ),
    Attack(
        "an end of my own",
        "import atexit; evidence = atexit._ncallbacks() > (n if 'n' in dir() else atexit._ncallbacks()) or None; atexit.unregister(int)",
        before="import atexit; n = atexit._ncallbacks(); atexit.register(int)",
    ),
    Attack(
        "a tracer",
        "import sys; evidence = sys.getprofile(); sys.setprofile(None)",
        before="import sys; sys.setprofile(lambda *a: None)",
    ),
    Attack("an open file", "os.fstat(200); evidence = 1", before="os.dup2(os.open('/dev/null', 0), 200)"),
    Attack(
        "a random state",
        "import random; evidence = random.random() == 0.13436424411240122 or None",
        before="import random; random.seed(1)",
    ),
    Attack(
        "a limit of recursion",
        "import sys; evidence = sys.getrecursionlimit() == 5000 or None; sys.setrecursionlimit(1000)",
        before="import sys; sys.setrecursionlimit(5000)",
    ),
    Attack("a mask", "m = os.umask(0o022); evidence = m == 0 or None", before="os.umask(0o000)"),
    Attack("a folder to work in", "evidence = os.getcwd() == '/dev' or None; os.chdir('/')", before="os.chdir('/dev')"),
    Attack(
        "a name",
        "b = ctypes.create_string_buffer(16); call('prctl', 16, b, 0, 0, 0); evidence = b.value == b'mine' or None",
        before="call('prctl', 15, b'mine', 0, 0, 0)",
    ),
    Attack(
        "a table in a database",
        "import duckdb; evidence = duckdb.sql('from mine').fetchall()",
        before="import duckdb; duckdb.sql('create table mine as select 1')",
    ),
    Attack(
        "a hook of imports",
        "import sys; evidence = print in sys.meta_path or None; sys.meta_path[:] = [m for m in sys.meta_path if m is not print]",
        before="import sys; sys.meta_path.append(print)",
    ),
]
