"""Bytes that must be UTF-8, and what a file is instead if its first bytes say so."""

from reprise.prepare.failure import DATA, Failure

_FOREIGN = (
    (b"\x1f\x8b", "it is compressed by gzip: decompress it with gzip -d"),
    (b"\x28\xb5\x2f\xfd", "it is compressed by zstd: decompress it with zstd -d"),
    (b"BZh", "it is compressed by bzip2: decompress it with bzip2 -d"),
    (b"\xfd7zXZ", "it is compressed by xz: decompress it with xz -d"),
    (b"PK\x03\x04", "it is a zip archive (or a spreadsheet): unpack it, or save it as CSV"),
    (b"ARROW1", "it is an Arrow file: write it as Parquet, for example with the method to_parquet of datasets"),
    (b"\x89HDF", "it is an HDF5 file: write its rows as JSON lines"),
    (b"SQLite format 3", "it is an SQLite database: write its rows as CSV"),
    (b"version https://git-lfs", "it is a pointer of Git LFS, not the file itself: fetch the file with git lfs pull"),
    (b"\xff\xfe", "it is UTF-16: convert it with iconv -f UTF-16 -t UTF-8"),
    (b"\xfe\xff", "it is UTF-16: convert it with iconv -f UTF-16 -t UTF-8"),
    (b"<!DOCTYPE", "it is a web page: the download has failed"),
    (b"<html", "it is a web page: the download has failed"),
)


def refuse_foreign(path: str, beginning: bytes) -> None:
    """Failure if the first bytes are those of a format that is not read."""
    for magic, sentence in _FOREIGN:
        if beginning.startswith(magic):
            raise Failure(DATA, f"{path}: expected JSON lines, JSON, CSV or Parquet, and {sentence}")


def decode(path: str, line: int, data: bytes) -> str:
    """Returns the text of a line. Failure with the column, in bytes from 1, of the first byte that is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[:error.start]
        line += before.count(b"\n")
        column = error.start - (before.rfind(b"\n") + 1) + 1
        raise Failure(
            DATA, f"{path}:{line}:{column}: the byte 0x{data[error.start]:02x} is not UTF-8: convert the file, for "
            "example with iconv -f ISO-8859-1 -t UTF-8") from None
