"""Screen: where tables go. Output that is no terminal gets a wide, plain table instead of a folded one."""

from rich.console import Console

PIPE_WIDTH = 240


def console() -> Console:
    """Standard output."""
    # markup would take matmul[m=1] for a style
    screen = Console(highlight=False, markup=False)
    return screen if screen.is_terminal else Console(highlight=False, markup=False, width=PIPE_WIDTH)
