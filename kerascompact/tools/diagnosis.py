"""What `kerascompact doctor` says of a `.tflite` file."""

from typing import NamedTuple


class Finding(NamedTuple):
    """Something that could be smaller.

    `saved` are the bytes that the file gets smaller by if it is stored as `how` says; `others` are
    other ways, that save more but may cost accuracy. `memory` are the bytes of a float32 copy that
    the runtime keeps.
    """

    kind: str
    tensor: str
    what: str
    how: str
    saved: int
    others: tuple[tuple[str, int], ...] = ()
    memory: int = 0


class Diagnosis(NamedTuple):
    """What `diagnose` found, the largest saving first.

    `needs` are the Flex and custom operators, that plain TFLite does not have; an app must bring
    them. `states` are tensors that outlive a run, those of fused LSTMs among them: the classic
    interpreter has them, LiteRT's `CompiledModel` loads no such file (ai-edge-litert 2.1).
    """

    num_bytes: int
    needs: list[str]
    findings: list[Finding]
    states: int = 0

    @property
    def saved(self) -> int:
        return sum(finding.saved for finding in self.findings)

    @property
    def memory(self) -> int:
        return sum(finding.memory for finding in self.findings)

    def is_healthy(self, limit: float = 0.1) -> bool:
        """Whether it runs anywhere, and at most this share of its bytes could be saved."""
        return not self.needs and self.saved <= limit * self.num_bytes

    def __str__(self) -> str:
        lines = [f"{self.num_bytes:,} bytes"]
        if self.findings:
            share = self.saved / self.num_bytes
            lines[0] += f", {self.saved:,} ({share:.1%}) of which could be saved"
        else:
            lines[0] += ", nothing to save"
        if self.memory:
            lines[0] += f"; {self.memory:,} bytes of memory, too"
        if self.needs:
            lines.append("needs an extra runtime for: " + ", ".join(self.needs))
        if self.states:
            lines.append(f"not for LiteRT's CompiledModel: {self.states} tensors outlive a run")
        for found in self.findings:
            share = found.saved / self.num_bytes
            lines.append(f"{found.saved:>12,} B {share:>6.1%}  {found.kind}: {found.tensor}")
            lines.append(f"{'':>22}{found.what}; {found.how}")
            lines.extend(f"{'':>22}or {saved:,} B {how}" for how, saved in found.others)
            if found.memory:
                lines.append(f"{'':>22}the runtime keeps {found.memory:,} bytes of it as float32")
        return "\n".join(lines)
