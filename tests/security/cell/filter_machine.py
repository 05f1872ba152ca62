"""The kernel's side of a seccomp filter, in Python: what does a program answer for a system call?"""

import struct


def answer(program: bytes, number: int, arguments: tuple[int, ...] = (), *, audit: int) -> int:
    """Run the program over one `seccomp_data`; the answer it returns."""
    words = [each & 0xFFFFFFFFFFFFFFFF for each in (*arguments, *([0] * 6))[:6]]
    data = struct.pack("=IIQ6Q", number & 0xFFFFFFFF, audit, 0, *words)
    code = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    accumulator = position = 0
    while True:
        operation, if_true, if_false, value = code[position]
        position += 1
        match operation:
            case 0x20:
                accumulator = struct.unpack_from("=I", data, value)[0]
            case 0x15:
                position += if_true if accumulator == value else if_false
            case 0x35:
                position += if_true if accumulator >= value else if_false
            case 0x45:
                position += if_true if accumulator & value else if_false
            case 0x54:
                accumulator &= value
            case 0x06:
                return value
            case _:
                raise AssertionError(f"operation {operation:#x} at {position - 1}")
