"""Runs files by LiteRT on whatever processor this is; needs numpy and ai_edge_litert alone.

`python run_files.py FOLDER OUT [WAY] [THREADS]`: every `NAME.tflite` of the folder on the rows of
`NAME.npy`, one after the other; the outputs go to `OUT/NAME.npy`. WAY is "classic", the interpreter
as it comes, with XNNPACK; "plain", without; or "compiled", the CompiledModel. The last line says
where that was.
"""

import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

WAYS = ("classic", "plain", "compiled")


def interpreter(file: bytes, plain: bool = False, threads: int = 1) -> Any:
    """LiteRT's interpreter of a file, as it comes or, if `plain`, without XNNPACK."""
    from ai_edge_litert import interpreter as litert  # a second under emulation

    kind = "BUILTIN_WITHOUT_DEFAULT_DELEGATES" if plain else "AUTO"
    resolver = getattr(litert.OpResolverType, kind)
    return litert.Interpreter(
        model_content=file, num_threads=threads, experimental_op_resolver_type=resolver
    )


def interpreted(file: bytes, rows: np.ndarray, plain: bool = False, threads: int = 1) -> np.ndarray:
    """The only output of a file for each row."""
    runner = interpreter(file, plain, threads).get_signature_runner()
    (name,) = runner.get_input_details()
    outputs = []
    for row in rows:
        (output,) = runner(**{name: row[None]}).values()
        outputs.append(output[0].copy())
    return np.stack(outputs)


def compiled(file: bytes, rows: np.ndarray, threads: int = 1) -> np.ndarray:
    """The same by a CompiledModel."""
    from ai_edge_litert.compiled_model import CompiledModel
    from ai_edge_litert.options import CpuOptions, Options

    options = Options(cpu_options=CpuOptions(num_threads=threads))
    model = CompiledModel.from_buffer(file, options=options)
    (details,) = model.get_output_tensor_details("serving_default").values()
    shape, dtype = [int(n) for n in details["shape"]], np.dtype(details["dtype"])
    given, made = model.create_input_buffers(0), model.create_output_buffers(0)
    outputs = []
    for row in rows:
        given[0].write(np.ascontiguousarray(row[None]))
        model.run_by_index(0, given, made)
        outputs.append(made[0].read(int(np.prod(shape)), dtype).reshape(shape)[0])
    return np.stack(outputs)


def main(argv: list[str]) -> int:
    """Runs every file of a folder."""
    folder, out = map(Path, argv[:2])
    way, threads = argv[2] if len(argv) > 2 else "classic", int(argv[3]) if len(argv) > 3 else 1
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted(folder.glob("*.tflite")):
        file, rows = path.read_bytes(), np.load(path.with_suffix(".npy"))
        if way == "compiled":
            outputs = compiled(file, rows, threads)
        else:
            outputs = interpreted(file, rows, way == "plain", threads)
        np.save(out / f"{path.stem}.npy", outputs)
    where = f"{platform.machine()}, {way}, {threads} thread{'s' * (threads > 1)}"
    print(json.dumps({"where": where, "litert": version("ai-edge-litert")}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
