"""Findings of `kerascompact doctor` about a `.tflite` file, and their report."""

from typing import NamedTuple


class Finding(NamedTuple):
    """Something that could be stored in fewer bytes.

    Args:
        kind: Kind of the finding, such as "float table".
        tensor: Names of the tensors, or a description.
        what: What is stored now.
        how: How to store it instead.
        saved: Bytes that this saves.
        others: Other ways, with the bytes saved: more, but they may cost accuracy.
        memory: Bytes of a float32 copy that the runtime keeps.
    """

    kind: str
    tensor: str
    what: str
    how: str
    saved: int
    others: tuple[tuple[str, int], ...] = ()
    memory: int = 0


class Diagnosis(NamedTuple):
    """Result of `diagnose`; printing it gives a report.

    Args:
        num_bytes: Size of the file in bytes.
        needs: Flex and custom operators, which an app must add to plain TFLite.
        findings: What could be smaller, the largest saving first.
        states: How many tensors outlive a run, such as the states of fused LSTMs. The classic
            interpreter keeps them; LiteRT's `CompiledModel` (ai-edge-litert 2.1) cannot load such a
            file.
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
        """Whether the file needs only built-in operators and could shrink by at most `limit`.

        Args:
            limit: Largest share of the bytes that may be saved.
        """
        return not self.needs and self.saved <= limit * self.num_bytes

    def __str__(self) -> str:
        lines = [f"{self.num_bytes:,} bytes"]
        if self.findings:
            share = self.saved / self.num_bytes
            lines[0] += f", {self.saved:,} ({share:.1%}) of which could be saved"
        else:
            lines[0] += ", nothing to save"
        if self.memory:
            lines[0] += f"; also {self.memory:,} bytes of memory"
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
