"""Writes an animated GIF of a bouncing ball, with the standard library alone.

usage: make_gif.py [OUTPUT [SIZE [FRAMES]]]
"""

import math
import struct
import sys

# Background, floor, ball, highlight.
PALETTE = bytes([24, 26, 38, 58, 64, 90, 255, 107, 74, 255, 214, 170])


def frame(size, moment):
    """The pixels of one frame; `moment` runs from 0 to 1 over one bounce."""
    radius = size / 6
    floor = size - size // 8
    height = math.sin(math.pi * moment)
    squash = max(0.0, 1 - height * 6) * 0.3
    wide, tall = radius * (1 + squash), radius * (1 - squash)
    centre_x = size / 2
    centre_y = floor - tall - height * (floor - 2 * radius - size / 12)
    pixels = bytearray()
    for y in range(size):
        for x in range(size):
            dx, dy = (x - centre_x) / wide, (y - centre_y) / tall
            shine = (dx + 0.35) ** 2 + (dy + 0.35) ** 2 < 0.06
            if dx * dx + dy * dy <= 1:
                pixels.append(3 if shine else 2)
            else:
                pixels.append(1 if y >= floor else 0)
    return bytes(pixels)


def compress(pixels, code_size=2):
    """GIF's variant of LZW: codes of growing width, packed from the low bit."""
    clear, end = 1 << code_size, (1 << code_size) + 1
    out, buffer, filled = bytearray(), 0, 0

    def emit(code, width):
        nonlocal buffer, filled
        buffer |= code << filled
        filled += width
        while filled >= 8:
            out.append(buffer & 255)
            buffer >>= 8
            filled -= 8

    def fresh():
        return {bytes([value]): value for value in range(clear)}, end + 1, code_size + 1

    table, next_code, width = fresh()
    emit(clear, width)
    seen = b""
    for value in pixels:
        longer = seen + bytes([value])
        if longer in table:
            seen = longer
            continue
        emit(table[seen], width)
        if next_code < 4096:
            table[longer] = next_code
            if next_code == 1 << width and width < 12:
                width += 1
            next_code += 1
        else:
            emit(clear, width)
            table, next_code, width = fresh()
        seen = bytes([value])
    emit(table[seen], width)
    emit(end, width)
    if filled:
        out.append(buffer & 255)
    return bytes(out)


def blocks(data):
    """Data in the length-prefixed blocks that GIF wants."""
    parts = [data[at : at + 255] for at in range(0, len(data), 255)]
    return b"".join(bytes([len(part)]) + part for part in parts) + b"\0"


def gif(size, frames):
    header = b"GIF89a" + struct.pack("<HHBBB", size, size, 0b11110001, 0, 0) + PALETTE
    forever = b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"
    body = b""
    for number in range(frames):
        control = b"\x21\xf9\x04" + struct.pack("<BHBB", 0b100, 4, 0, 0)
        place = b"\x2c" + struct.pack("<HHHHB", 0, 0, size, size, 0)
        data = compress(frame(size, number / frames))
        body += control + place + b"\x02" + blocks(data)
    return header + forever + body + b"\x3b"


def main(arguments):
    output = arguments[0] if arguments else "ball.gif"
    size = int(arguments[1]) if len(arguments) > 1 else 128
    frames = int(arguments[2]) if len(arguments) > 2 else 24
    if not 16 <= size <= 512 or not 2 <= frames <= 120:
        sys.exit("size must be from 16 to 512 and frames from 2 to 120")
    data = gif(size, frames)
    with open(output, "wb") as file:
        file.write(data)
    print(f"{output}: {size}x{size}, {frames} frames, {len(data)} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
