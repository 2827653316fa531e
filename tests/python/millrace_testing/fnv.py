"""The checksum of checkpoints and of files of tensors."""


def checksum(content: bytes) -> str:
    """FNV-1a with 64 bits, in hexadecimal."""
    value = 0xCBF29CE484222325
    for byte in content:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"
