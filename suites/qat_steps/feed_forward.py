"""A training step of one feed-forward block with quantized weights: forward, loss, backward, update."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import mse_loss, silu
from torch.optim import SGD

from perfdb.domain.case import Case
from suites import cost, inputs, tolerance
from suites.quantize import straight_through, ternary
from suites.registry import Launch, benchmark, grid

#: So small that thousands of timed steps leave the weights, and so the speed, as they were.
LEARNING_RATE = 1e-6


@dataclass(frozen=True, slots=True)
class Step:
    """Tokens (t, w), their targets, and the two weights of a block by name: up (h, w) and down (w, h)."""

    x_TW: Tensor
    target_TW: Tensor
    weights: dict[str, Tensor]
    is_ternary: bool

    @classmethod
    def of(cls, case: Case) -> "Step":
        """Seeded operands of a case."""
        tokens, width, hidden = (case.size(axis) for axis in ("tokens", "width", "hidden"))
        return cls(
            x_TW=inputs.activations(case, tokens, width),
            target_TW=inputs.activations(case, tokens, width, stream=3),
            weights={
                "up": inputs.weights(case, hidden, width).requires_grad_(),
                "down": inputs.weights(case, width, hidden, stream=2).requires_grad_(),
            },
            is_ternary=case["quantizer"] == "ternary",
        )

    def loss(self) -> Tensor:
        """Mean squared error of the block's output."""
        up, down = (straight_through(ternary(w), w) if self.is_ternary else w for w in self.weights.values())
        return mse_loss(silu(self.x_TW @ up.T) @ down.T, self.target_TW)

    def run(self, optimizer: SGD) -> Tensor:
        """One step; gives its loss."""
        optimizer.zero_grad(set_to_none=True)
        loss = self.loss()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return loss.detach()

    def restart(self, case: Case, optimizer: SGD) -> None:
        """Back to the first weights, without momentum."""
        with torch.no_grad():
            for name, weight in Step.of(case).weights.items():
                self.weights[name].copy_(weight)
        optimizer.state.clear()

    def traces(self, loss: Tensor, optimizer: SGD) -> dict[str, Tensor]:
        """What the step before left: its loss, gradients and momentum; what it did not make is missing."""
        gradients = {f"d_{name}": w.grad for name, w in self.weights.items() if w.grad is not None}
        states = {name: optimizer.state[w] for name, w in self.weights.items()}
        momentum = {f"momentum_{name}": s["momentum_buffer"] for name, s in states.items() if "momentum_buffer" in s}
        return {"loss": loss, **gradients, **momentum}


def expected(case: Case) -> dict[str, Tensor]:
    """The first step in float64, its gradients written out; momentum starts as the gradient."""
    step = Step.of(case)
    x_TW, target_TW = step.x_TW.double(), step.target_TW.double()
    weights = (weight.detach().double() for weight in step.weights.values())
    up_HW, down_WH = (ternary(w) if step.is_ternary else w for w in weights)
    h_TH = x_TW @ up_HW.T
    sigmoid_TH = h_TH.sigmoid()
    error_TW = (h_TH * sigmoid_TH) @ down_WH.T - target_TW
    dy_TW = 2 * error_TW / error_TW.numel()
    dh_TH = (dy_TW @ down_WH) * sigmoid_TH * (1 + h_TH * (1 - sigmoid_TH))
    d_up, d_down = dh_TH.T @ x_TW, dy_TW.T @ (h_TH * sigmoid_TH)
    gradients = {"d_up": d_up, "d_down": d_down, "momentum_up": d_up, "momentum_down": d_down}
    return {"loss": error_TW.square().mean(), **gradients}


@benchmark(
    cases=grid(quantizer=["none", "ternary"], tokens=[128], width=[256], hidden=[1024]),
    cost=cost.qat_step,
    reference=expected,
    tolerance=tolerance.QUANTIZED,
)
def qat_step(case: Case) -> Launch:
    """A step of SGD with momentum. Its accuracy is that of the timed step, run once more from the first weights."""
    step = Step.of(case)
    optimizer = SGD(step.weights.values(), lr=LEARNING_RATE, momentum=0.9)

    def first_step() -> dict[str, Tensor]:
        step.restart(case, optimizer)
        return step.traces(step.run(optimizer), optimizer)

    return Launch(lambda: step.run(optimizer), outputs=first_step)
