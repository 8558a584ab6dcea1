"""A training step of one feed-forward block with quantized weights: forward, loss, backward, update."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import mse_loss, silu

from perfdb.domain.case import Case
from suites import cost, inputs, tolerance
from suites.quantize import straight_through, ternary
from suites.registry import Launch, benchmark, grid

#: So small that thousands of timed steps leave the weights, and so the speed, as they were.
LEARNING_RATE = 1e-6


@dataclass(slots=True)
class Step:
    """Tokens (t, w), their targets, and the two weights of a block: up (h, w) and down (w, h)."""

    x_TW: Tensor
    target_TW: Tensor
    weights: tuple[Tensor, Tensor]
    is_ternary: bool

    @classmethod
    def of(cls, case: Case, dtype: torch.dtype) -> "Step":
        """Seeded operands of a case."""
        tokens, width, hidden = (case.size(axis) for axis in ("tokens", "width", "hidden"))
        up, down = inputs.weights(case, hidden, width), inputs.weights(case, width, hidden, stream=2)
        return cls(
            x_TW=inputs.activations(case, tokens, width).to(dtype),
            target_TW=inputs.activations(case, tokens, width, stream=3).to(dtype),
            weights=(up.to(dtype).requires_grad_(), down.to(dtype).requires_grad_()),
            is_ternary=case["quantizer"] == "ternary",
        )

    def loss(self) -> Tensor:
        """Mean squared error of the block's output."""
        up, down = (straight_through(ternary(w), w) if self.is_ternary else w for w in self.weights)
        return mse_loss(silu(self.x_TW @ up.T) @ down.T, self.target_TW)

    def gradients(self) -> dict[str, Tensor]:
        """Loss and gradients of the weights as they are, which stay as they are."""
        loss = self.loss()
        up, down = torch.autograd.grad(loss, self.weights)
        return {"loss": loss, "d_up": up, "d_down": down}

    def run(self, optimizer: torch.optim.Optimizer) -> None:
        """One step."""
        optimizer.zero_grad(set_to_none=True)
        self.loss().backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def expected(case: Case) -> object:
    """Loss and gradients of the first step in float64."""
    return Step.of(case, torch.float64).gradients()


@benchmark(
    cases=grid(quantizer=["none", "ternary"], tokens=[128], width=[256], hidden=[1024]),
    cost=cost.qat_step,
    reference=expected,
    tolerance=tolerance.STEP,
)
def qat_step(case: Case) -> Launch:
    """A step of SGD with momentum. Accuracy is that of fresh weights: the timed ones have moved on."""
    step = Step.of(case, torch.float32)
    optimizer = torch.optim.SGD(step.weights, lr=LEARNING_RATE, momentum=0.9)
    return Launch(lambda: step.run(optimizer), outputs=lambda: Step.of(case, torch.float32).gradients())
