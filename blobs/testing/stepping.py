"""Two threads that take their steps in a given order, so that every interleaving can be tried."""

import itertools
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

Store = TypeVar("Store")
First = TypeVar("First")
Second = TypeVar("Second")

_DRAWN = 20261201
"""The seed of the interleavings that are drawn."""


def interleavings(first: int, second: int, *, most: int | None = None) -> Iterator[tuple[int, ...]]:
    """Every order in which two threads can take so many steps, as the numbers 0 and 1; or `most` of them, drawn."""
    count = first + second
    if most is None:
        for places in itertools.combinations(range(count), first):
            yield tuple(0 if place in places else 1 for place in range(count))
        return
    draw = random.Random(_DRAWN)  # noqa: S311  # to be repeated, not a secret
    for _ in range(most):
        order = [0] * first + [1] * second
        draw.shuffle(order)
        yield tuple(order)


class Steps:
    """A schedule, and the stores whose calls are its steps. A thread that has ended is passed over."""

    def __init__(self, schedule: tuple[int, ...]) -> None:
        self._schedule = list(schedule)
        self._turn = threading.Condition()
        self._threads: dict[int, int] = {}
        self._running = {0, 1}

    def watch(self, store: Store, *verbs: str) -> Store:
        """The store, whose calls of these verbs wait for their place in the schedule."""
        return cast("Store", _Watched(store, self, verbs))

    def run(self, first: Callable[[], First], second: Callable[[], Second]) -> tuple[First, Second]:
        """Run both to their end; raises what either raises."""
        outcomes: list[Any] = [None, None]
        faults: list[BaseException] = []

        def work(number: int, job: Callable[[], Any]) -> None:
            self._threads[threading.get_ident()] = number
            try:
                outcomes[number] = job()
            except BaseException as fault:  # noqa: BLE001  # a thread's fault is the test's
                faults.append(fault)
            finally:
                with self._turn:
                    self._running.discard(number)
                    self._turn.notify_all()

        threads = [threading.Thread(target=work, args=each) for each in enumerate((first, second))]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        if faults:
            raise faults[0]
        return outcomes[0], outcomes[1]

    def step(self, call: Callable[[], Any]) -> Any:
        """Take a step when it is this thread's turn; the next one begins when it is done."""
        number = self._threads[threading.get_ident()]
        with self._turn:
            while not self._is_turn_of(number):
                self._turn.wait(10)
            try:
                return call()
            finally:
                if self._schedule:
                    self._schedule.pop(0)
                self._turn.notify_all()

    def _is_turn_of(self, number: int) -> bool:
        while self._schedule and self._schedule[0] not in self._running:
            self._schedule.pop(0)
        return not self._schedule or self._schedule[0] == number


class _Watched:
    def __init__(self, store: Any, steps: Steps, verbs: tuple[str, ...]) -> None:
        self._store = store
        self._steps = steps
        self._verbs = verbs

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in self._verbs:
            return found
        return lambda *given, **named: self._steps.step(lambda: found(*given, **named))
